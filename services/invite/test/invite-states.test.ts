import { InviteRedemption } from '@gatehouse/domain'
import type { InviteReply } from '@gatehouse/contracts'
import { expect } from 'chai'
import fc from 'fast-check'
import { startInviteHarness, type InviteHarness } from './harness.ts'
import { InviteModel, type Change } from './invite-model.ts'

const epoch = Date.UTC(2026, 5, 1)
type Real = { invites: InviteHarness }
type Step = fc.AsyncCommand<InviteModel, Real>

describe('Invite status under any sequence of acts', () => {
  let invites: InviteHarness

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  it('is what the specification says, and usedCount always equals the redemptions made', async () => {
    const runs = fc.asyncProperty(fc.commands(steps, { maxCommands: 12 }), async (sequence) => {
      await invites.orm.em.fork().execute('delete from invites')
      invites.clock.set(epoch)
      await fc.asyncModelRun(() => ({ model: new InviteModel(), real: { invites } }), sequence)
    })
    await fc.assert(runs, { numRuns: 60, interruptAfterTimeLimit: 80_000, markInterruptAsFailure: true })
  })
})

/** A step on an invite that exists, after which everything is compared. */
function stepOn(name: string, act: (model: InviteModel, invites: InviteHarness) => Promise<void>): Step {
  return {
    check: (model) => model.invites.length > 0,
    run: async (model, { invites }) => {
      await act(model, invites)
      await compareAll(model, invites)
    },
    toString: () => name,
  }
}

const index = fc.nat({ max: 3 })
const maxUses = fc.option(fc.integer({ min: 1, max: 4 }))
const moment = fc.option(fc.integer({ min: 0, max: 12 }))
const change: fc.Arbitrary<Change> = fc.record({ maxUses, expiresAt: moment }, { requiredKeys: [] })
const onWire = ({ expiresAt, ...rest }: Change) => ({
  ...rest,
  ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : epoch + expiresAt }),
})
const path = ({ id }: { id: string }, act = '') => `/api/admin/invites/${id}${act}`

const create = fc.tuple(maxUses, fc.option(fc.integer({ min: 1, max: 6 }))).map(([uses, lifetime]): Step => ({
  check: (model) => model.invites.length < 4,
  run: async (model, { invites }) => {
    const limits = { maxUses: uses, expiresAt: lifetime === null ? null : model.now + lifetime }
    const { id, token } = await invites.buildInvite({ maxUses: uses, expiresAt: onWire(limits).expiresAt ?? null })
    model.invites.push({ id, tokens: [token], ...limits, revoked: false, redemptions: 0 })
    await compareAll(model, invites)
  },
  toString: () => `create(${uses}, ${lifetime})`,
}))

const patch = fc.tuple(index, change).map(([at, given]) =>
  stepOn(`patch(${at}, ${JSON.stringify(given)})`, async (model, invites) => {
    const invite = model.pick(at)
    const { status } = await invites.call('PATCH', path(invite), { body: onWire(given) })
    expect(status).to.equal(model.patch(invite, given))
  }),
)

const revoke = index.map((at) =>
  stepOn(`revoke(${at})`, async (model, invites) => {
    const invite = model.pick(at)
    const { status } = await invites.call('POST', path(invite, '/revoke'))
    expect(status).to.equal(model.revoke(invite))
  }),
)

const reinstate = fc.tuple(index, change).map(([at, given]) =>
  stepOn(`reinstate(${at}, ${JSON.stringify(given)})`, async (model, invites) => {
    const invite = model.pick(at)
    const rotates = invite.revoked
    const { status, body } = await invites.call('POST', path(invite, '/reinstate'), { body: onWire(given) })
    expect(status).to.equal(model.reinstate(invite, given))
    if (status !== 200) return
    expect(body.tokenRotated).to.equal(rotates)
    if (!rotates) return
    const { token } = body.invite as InviteReply
    expect(invite.tokens).to.not.include(token)
    invite.tokens.push(token)
  }),
)

const remove = index.map((at) =>
  stepOn(`delete(${at})`, async (model, invites) => {
    const invite = model.pick(at)
    expect((await invites.call('DELETE', path(invite))).status).to.equal(200)
    model.remove(invite)
  }),
)

const redeem = fc.tuple(index, fc.nat({ max: 5 }), fc.integer({ min: 1, max: 3 })).map(([at, tokenAt, attempts]) =>
  stepOn(`redeem(${at}, token ${tokenAt}, ${attempts} at once)`, async (model, invites) => {
    const invite = model.pick(at)
    const token = invite.tokens[tokenAt] ?? invite.tokens.at(-1)!
    const outcomes = await Promise.allSettled(Array.from({ length: attempts }, () => invites.redeem(token)))
    const admitted = outcomes.filter(({ status }) => status === 'fulfilled').length
    expect(admitted).to.equal(model.redeem(invite, { token, attempts }))
  }),
)

const advance = fc.integer({ min: 1, max: 4 }).map((ms) =>
  stepOn(`advance(${ms})`, async (model, invites) => {
    model.now += ms
    invites.clock.advance(ms)
  }),
)

const steps = [create, create, patch, revoke, reinstate, reinstate, remove, redeem, redeem, redeem, advance, advance]

async function compareAll(model: InviteModel, invites: InviteHarness): Promise<void> {
  for (const status of ['active', 'archived']) {
    const { body } = await invites.call<{ invites: InviteReply[] }>('GET', `/api/admin/invites?status=${status}`)
    const shown = body.invites.map(({ id, token, status, maxUses, usedCount, expiresAt }) => {
      return { id, token, status, maxUses, usedCount, expiresAt }
    })
    expect(shown).to.deep.equal(model.list(status === 'archived', epoch))
  }
  const rows = await invites.orm.em.fork().find(InviteRedemption, {})
  const counted = model.invites.map(({ id }) => rows.filter(({ inviteId }) => inviteId === id).length)
  expect(counted).to.deep.equal(model.invites.map(({ redemptions }) => redemptions))
  expect(rows).to.have.length(counted.reduce((sum, count) => sum + count, 0))
}
