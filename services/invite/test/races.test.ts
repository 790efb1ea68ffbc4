import { Invite, InviteRedemption, User, type Invite as InviteRow } from '@gatehouse/domain'
import { countLockWaits, eventually, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startInviteHarness, type Answer, type InviteHarness } from './harness.ts'

describe('Registration 11: a redemption under way', () => {
  let invites: InviteHarness
  const path = (invite: { id: string }, act = '') => `/api/admin/invites/${invite.id}${act}`

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  /** Holds a redemption open between the check and the count, starts an admin's act, and lets both end. */
  async function whileRedeeming(token: string, act: () => Promise<Answer>, end: () => void = () => undefined) {
    const inserting = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const whileInserting = async () => {
      inserting.resolve()
      await mayEnd.promise
      end()
    }
    const redemption = invites.redeem(token, { whileInserting })
    await inserting.promise
    const answer = act()
    await eventually('the act waits for the row', async () => (await countLockWaits(invites)) > 0)
    mayEnd.resolve()
    const [redeemed, answered] = await Promise.allSettled([redemption, answer])
    return { redeemed, answered: (answered as PromiseFulfilledResult<Answer>).value }
  }

  /** What the invite counts, and what there is. */
  async function tally({ id }: { id: string }): Promise<{ uses: number | undefined; redemptions: number }> {
    const em = invites.orm.em.fork()
    const invite: InviteRow | null = await em.findOne(Invite, { id })
    return { uses: invite?.usedCount, redemptions: await em.count(InviteRedemption, { inviteId: id }) }
  }

  it('comes wholly before a delete, which then removes its record', async () => {
    const invite = await invites.buildInvite()
    const { redeemed, answered } = await whileRedeeming(invite.token, () => invites.call('DELETE', path(invite)))

    expect([redeemed.status, answered.status]).to.deep.equal(['fulfilled', 200])
    expect(await tally(invite)).to.deep.equal({ uses: undefined, redemptions: 0 })
    const { id } = (redeemed as PromiseFulfilledResult<User>).value
    expect(await invites.orm.em.fork().count(User, { id })).to.equal(1)
  })

  it('comes wholly before a revocation, which counts it', async () => {
    const invite = await invites.buildInvite({ maxUses: 1 })
    const revoke = () => invites.call('POST', path(invite, '/revoke'))
    const { redeemed, answered } = await whileRedeeming(invite.token, revoke)

    expect(redeemed.status).to.equal('fulfilled')
    expect(answered.body.invite).to.include({ status: 'revoked', usedCount: 1 })
    expect(await tally(invite)).to.deep.equal({ uses: 1, redemptions: 1 })
  })

  it('is seen by a patch that would set maxUses below it', async () => {
    const invite = await invites.buildInvite({ maxUses: 3 })
    await invites.redeem(invite.token)
    const narrow = () => invites.call('PATCH', path(invite), { body: { maxUses: 1 } })
    const { redeemed, answered } = await whileRedeeming(invite.token, narrow)

    expect([redeemed.status, answered.status]).to.deep.equal(['fulfilled', 400])
    expect(await tally(invite)).to.deep.equal({ uses: 2, redemptions: 2 })
  })

  it('is seen by a reinstatement that its slot would not suffice for', async () => {
    const invite = await invites.buildInvite({ maxUses: 1 })
    const reinstate = () => invites.call('POST', path(invite, '/reinstate'), { body: { maxUses: 1 } })
    const { redeemed, answered } = await whileRedeeming(invite.token, reinstate)

    expect([redeemed.status, answered.status]).to.deep.equal(['fulfilled', 400])
    expect(await tally(invite)).to.deep.equal({ uses: 1, redemptions: 1 })
  })

  it('that fails gives the slot back to the next in line', async () => {
    const invite = await invites.buildInvite({ maxUses: 1 })
    const fail = () => {
      throw new Error('the process is gone')
    }
    const second = invites.redeem
    const act = async () => ({ status: 201, body: { id: (await second(invite.token)).id } })
    const { redeemed, answered } = await whileRedeeming(invite.token, act, fail)

    expect([redeemed.status, answered.status]).to.deep.equal(['rejected', 201])
    expect(await tally(invite)).to.deep.equal({ uses: 1, redemptions: 1 })
  })

  it('waits for a revocation and is refused, also when a reinstatement has rotated the token meanwhile', async () => {
    const invite = await invites.buildInvite()
    const em = invites.orm.em.fork()
    await em.begin()
    await em.execute('select from invites where id = ? for update', [invite.id])
    const redemption = invites.redeem(invite.token).catch((error: unknown) => error)
    await eventually('the redemption waits for the row', async () => (await countLockWaits(invites)) > 0)
    await em.execute("update invites set token = 'rotated' where id = ?", [invite.id])
    await em.commit()

    expect(await redemption).to.include({ code: 'invite_invalid', status: 403 })
    expect(await tally(invite)).to.deep.equal({ uses: 0, redemptions: 0 })
  })

  it('and a revocation that race for the last slot agree on who won', async () => {
    const invite = await invites.buildInvite({ maxUses: 1 })
    const redemptions = Array.from({ length: 8 }, () => invites.redeem(invite.token))
    const [outcomes, revoked] = await Promise.all([
      Promise.allSettled(redemptions),
      invites.call('POST', path(invite, '/revoke')),
    ])
    const winners = outcomes.filter(({ status }) => status === 'fulfilled').length

    expect(revoked.status).to.equal(200)
    expect(winners).to.be.at.most(1)
    expect(await tally(invite)).to.deep.equal({ uses: winners, redemptions: winners })
  })

  it('of two admins at the same invite, one revokes it', async () => {
    const invite = await invites.buildInvite()
    const attempts = Array.from({ length: 8 }, () =>
      untilAvailable(() => invites.call('POST', path(invite, '/revoke'))),
    )
    const statuses = (await Promise.all(attempts)).map(({ status }) => status).sort()

    expect(statuses).to.deep.equal([200, ...Array<number>(7).fill(409)])
  })
})
