import { inviteCreated, inviteRevoked, type InviteReply } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { AuditEntry, InstanceSettings, Invite, User } from '@gatehouse/domain'
import {
  countLockWaits,
  eventually,
  insertUser,
  untilAvailable,
  type TestCaller,
  type UserOverrides,
} from '@gatehouse/test-kit'
import { expect } from 'chai'
import { origin, startInviteHarness, type Answer, type InviteHarness } from './harness.ts'

const path = '/api/invites'
const day = 86_400_000

type Listed = { invites: InviteReply[]; left: number }

/** Contract: 4, Invites of members. */
describe('Invites of members', () => {
  let invites: InviteHarness
  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())
  beforeEach(() => allow(2))

  const em = () => invites.orm.em.fork()
  const allow = (memberInvites: number) => em().nativeUpdate(InstanceSettings, { id: 1 }, { memberInvites })
  async function member(overrides: UserOverrides = {}): Promise<TestCaller> {
    const { id, username } = await insertUser(invites, overrides)
    return { id, username, isAdmin: false }
  }
  const create = (as: TestCaller, given: object = {}) =>
    invites.call<InviteReply>('POST', path, { as, body: { name: 'a friend', ...given } })
  const list = async (as: TestCaller, query = '') => (await invites.call<Listed>('GET', path + query, { as })).body
  const revoke = (as: TestCaller, id: string) => invites.call('POST', `${path}/${id}/revoke`, { as })
  const outcome = ({ status, body }: Answer<object>) => [status, (body as { code?: string }).code]

  it('admit one person within 30 days unless told otherwise, and are in the list of the member and of admins', async () => {
    const ada = await member()
    const now = invites.clock.now()

    const { status, body: made } = await create(ada)

    expect(status).to.equal(201)
    expect(made).to.include({ name: 'a friend', maxUses: 1, usedCount: 0, status: 'active', createdBy: ada.id })
    expect(made).to.include({ createdByUsername: ada.username, expiresAt: now + 30 * day })
    expect(made.url).to.equal(`${origin}/register?invite=${made.token}`)
    expect(await list(ada)).to.deep.include({ invites: [made], left: 1 })
    const { body: ofAdmins } = await invites.call<Listed>('GET', '/api/admin/invites')
    expect(ofAdmins.invites).to.deep.include(made)
    expect(await em().findOneOrFail(AuditEntry, { targetId: made.id })).to.deep.include({
      action: 'invite.created',
      actorId: ada.id,
      actorUsername: ada.username,
      detail: { name: 'a friend', maxUses: 1, expiresAt: now + 30 * day },
    })
    const redeemed = await invites.redeem(made.token)
    expect(await em().count(User, { id: redeemed.id })).to.equal(1)
    expect((await list(ada, '?status=archived')).invites[0]).to.include({ id: made.id, status: 'exhausted' })
  })

  it('are made by nobody while the setting is 0; those that there are stay, and can be revoked', async () => {
    const ada = await member()
    const { body: made } = await create(ada)
    await allow(0)

    expect(outcome(await create(ada))).to.deep.equal([403, 'member_invites_off'])
    expect(await list(ada)).to.deep.include({ invites: [made], left: 0 })
    expect((await revoke(ada, made.id)).body['invite']).to.include({ id: made.id, status: 'revoked' })
    expect(outcome(await revoke(ada, made.id))).to.deep.equal([409, 'invite_already_revoked'])
    expect((await list(ada)).invites).to.deep.equal([])
  })

  it('have at most ten uses and thirty days, and are of local accounts', async () => {
    const [ada, now] = [await member(), invites.clock.now()]
    const remote = await member({ username: 'eve@away.example', homeInstance: 'away.example' })

    for (const given of [{ maxUses: 11 }, { maxUses: 0 }, { maxUses: 1.5 }, { name: ' ' }, { expiresAt: 'soon' }])
      expect((await create(ada, given)).status, JSON.stringify(given)).to.equal(400)
    expect(outcome(await create(ada, { expiresAt: now }))).to.deep.equal([400, 'expiry_past'])
    expect(outcome(await create(ada, { expiresAt: now + 30 * day + 1 }))).to.deep.equal([400, 'expiry_too_late'])
    expect(outcome(await create(remote))).to.deep.equal([403, 'native_account_required'])
    const { body: made } = await create(ada, { maxUses: 10, expiresAt: now + 30 * day })
    expect(made).to.include({ maxUses: 10, expiresAt: now + 30 * day })
  })

  it('are as many in thirty days as the setting says, for sixteen requests at once too, and a revoked one counts', async () => {
    const [ada, other] = [await member(), await member()]

    const answers = await Promise.all(Array.from({ length: 16 }, () => untilAvailable(() => create(ada))))

    const made = answers.filter(({ status }) => status === 201)
    expect(made).to.have.length(2)
    const spent = answers.filter((answer) => outcome(answer)[1] === 'member_invites_spent')
    expect([spent.length, spent[0]?.status]).to.deep.equal([14, 409])
    await revoke(ada, made[0]!.body.id)
    expect((await create(ada)).status).to.equal(409)
    expect((await create(other)).status).to.equal(201)
    const spentSince = made.map(({ body }) => body.createdAt).sort((a, b) => a - b)
    invites.clock.advance(spentSince[0]! + 30 * day - 1 - invites.clock.now())
    expect((await create(ada)).status).to.equal(409)
    invites.clock.advance(1)
    expect((await create(ada)).status).to.equal(201)
  })

  it('wait for one of the same member that another replica is creating', async () => {
    await allow(1)
    const ada = await member()
    const other = em()
    await other.begin()
    await other.execute('select from users where id = ? for no key update', [ada.id])
    const creating = create(ada)
    await eventually('the request waits', async () => (await countLockWaits(invites)) > 0)
    const row = { id: await nextId(other), token: 'of another replica', name: 'a friend', byMember: true }
    await other.insert(Invite, { ...row, createdBy: ada.id, createdAt: new Date(invites.clock.now()) })
    await other.commit()

    expect(outcome(await creating)).to.deep.equal([409, 'member_invites_spent'])
  })

  it('are one’s own only: others, and those that one made as an admin, are not in the list nor revoked', async () => {
    const [ada, bob] = [await member(), await member()]
    const { body: made } = await create(ada)
    const asAdmin = await invites.buildInvite()
    await allow(5)
    const { body: ownOfAdmin } = await create(invites.admin)

    expect((await list(bob)).invites).to.deep.equal([])
    expect(outcome(await revoke(bob, made.id))).to.deep.equal([404, 'invite_unknown'])
    expect(outcome(await revoke(invites.admin, asAdmin.id))).to.deep.equal([404, 'invite_unknown'])
    expect((await list(invites.admin)).invites.map(({ id }) => id)).to.deep.equal([ownOfAdmin.id])
    expect((await revoke(ada, made.id)).status).to.equal(200)
  })

  it('are not made with a token from before a suspension or a change of the password', async () => {
    const ada = await member()
    await em().nativeUpdate(User, { id: ada.id }, { passwordChangedAt: (invites.clock.now() + 1_000) as never })

    expect(outcome(await create(ada))).to.deep.equal([401, 'token_revoked'])
    expect(outcome(await revoke(ada, '1'))).to.deep.equal([401, 'token_revoked'])
    expect(await em().count(Invite, { createdBy: ada.id })).to.equal(0)
  })

  it('need a token that no other invite has', async () => {
    const ada = await member()
    const { token } = (await create(ada)).body
    invites.tokens.push(token, token, token, token)

    expect(outcome(await create(ada))).to.deep.equal([503, 'no_free_token'])
    expect((await create(ada)).status).to.equal(201)
  })

  it('are told to who watches, as those of admins', async () => {
    const ada = await member()
    await using opening = new AsyncDisposableStack()
    const told: string[] = []
    opening.use(
      await invites.deps.bus.subscribe([inviteCreated, inviteRevoked], async ({ name, payload }) => {
        const { inviteId, actor } = payload as { inviteId: string; actor: { userId: string } }
        told.push(`${name} ${inviteId} ${actor.userId}`)
      }),
    )
    const { body: made } = await create(ada)
    await revoke(ada, made.id)

    await eventually('both are told', () => told.length === 2)
    expect(told).to.deep.equal([`InviteCreated ${made.id} ${ada.id}`, `InviteRevoked ${made.id} ${ada.id}`])
  })
})
