import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { deleteFederatedIdentity, detachHome } from '@gatehouse/contracts'
import { LinkedIdentity, type User } from '@gatehouse/domain'
import { buildStub, buildUser, readUser } from './builders.ts'
import { buildChannel, buildDirectMessages, buildMessage, buildSpace, column, insertRow, rowsOf } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { buildTicket, countTickets, linkIdentity } from './provider-builders.ts'
import { testPassword } from './quick-hasher.ts'

const timeoutMs = 10_000
const token = 'ab'.repeat(32)

describe('Accounts whose home was lost', () => {
  let identity: TestIdentity
  let host: string
  let user: User
  let made = 0
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    made += 1
    host = `home${made}.example`
    user = await buildUser(identity, { username: `ivy@${host}`, homeInstance: host, homeUserId: 'old' })
    identity.federation.user = { outcome: 'no_peer' }
    identity.federation.proof = { outcome: 'valid', homeUserId: 'new', username: 'ivy' }
  })

  /** The row of an origin at `host` that an admin has peered with anew. */
  const recordReset = (row: { seen_at?: Date; new_instance_id?: string | null; origin?: string } = {}) =>
    insertRow(identity, 'peer_resets', {
      origin: `https://${host}`,
      host,
      instance_id: 'lost',
      new_instance_id: 'new',
      ...row,
    })
  const requestDetachment = () => identity.deps.bus.request(detachHome, { host }, { timeoutMs })
  async function detach() {
    await recordReset()
    return await requestDetachment()
  }
  const reattach = (as = user, given = token) =>
    identity.call('POST', '/api/users/@me/reattach', { as, body: { token: given } })
  const self = async () => (await identity.call('GET', '/api/users/@me', { as: user })).body

  describe('detachHome', () => {
    /** Contract: 7, Detached accounts. */
    it('tombstones stubs and makes real accounts local, once', async () => {
      const stub = await buildStub(identity, { username: `s@${host}`, homeInstance: host, homeUserId: 's' })
      const bystander = await buildUser(identity, { username: `b${made}@away.example`, homeInstance: 'away.example' })

      expect(await detach()).to.deep.equal({ tombstoned: 1, detached: 1 })
      expect(await requestDetachment()).to.deep.equal({ tombstoned: 0, detached: 0 })

      expect((await readUser(identity, stub.id)).isDeleted).to.equal(true)
      expect((await readUser(identity, bystander.id)).homeInstance).to.equal('away.example')
      const former = { detachedHomeInstance: host, formerHomeUserId: 'old', federationHomeOrphaned: true }
      const local = { homeInstance: null, homeUserId: null, username: `ivy@${host}` }
      expect(await readUser(identity, user.id)).to.include({ ...local, ...former })
    })

    it('leaves who came after another instance was seen: the new home deletes such an account as its own', async () => {
      const seenAt = new Date(identity.clock.now())
      await recordReset({ seen_at: seenAt })
      const later = { createdAt: new Date(seenAt.getTime() + 1), homeInstance: host }
      const account = await buildUser(identity, { ...later, username: `amy@${host}`, homeUserId: 'new' })
      const stub = await buildStub(identity, { ...later, username: `t@${host}`, homeUserId: 't' })

      expect(await requestDetachment()).to.deep.equal({ tombstoned: 0, detached: 1 })

      expect((await readUser(identity, user.id)).federationHomeOrphaned).to.equal(true)
      expect((await readUser(identity, stub.id)).isDeleted).to.equal(false)
      const kept = { homeInstance: host, homeUserId: 'new', federationHomeOrphaned: false }
      expect(await readUser(identity, account.id)).to.include(kept)
      const identityOf = { homeUserId: 'new', homeInstance: host, mode: 'soft' } as const
      const deletion = await identity.deps.bus.request(deleteFederatedIdentity, identityOf, { timeoutMs })
      expect(deletion).to.deep.equal({ outcome: 'deleted' })
    })

    it('takes all where nobody saw the other instance before its activation', async () => {
      const later = { createdAt: new Date(identity.clock.now() + 1), homeInstance: host, homeUserId: 'new' }
      await buildUser(identity, { ...later, username: `amy@${host}` })
      await recordReset({ seen_at: new Date(identity.clock.now()), origin: `https://${host}:444` })

      expect(await detach()).to.deep.equal({ tombstoned: 0, detached: 2 })
    })

    it('goes by the last reset where two origins of the host were reset', async () => {
      const [first, second] = [identity.clock.now() - 1, identity.clock.now()].map((time) => new Date(time))
      await recordReset({ seen_at: first! })
      await recordReset({ seen_at: second!, origin: `https://${host}:444` })

      expect(await requestDetachment()).to.deep.equal({ tombstoned: 0, detached: 1 })
    })

    it('changes nothing without a reset that ended with a new peering', async () => {
      expect(await requestDetachment()).to.deep.equal({ tombstoned: 0, detached: 0 })
      await recordReset({ new_instance_id: null })

      expect(await requestDetachment()).to.deep.equal({ tombstoned: 0, detached: 0 })
    })

    it('shows it to the account itself only', async () => {
      expect(await self()).to.include({ federationHomeOrphaned: false, detachedHomeInstance: null })
      await detach()
      const other = await buildUser(identity)

      expect(await self()).to.include({ federationHomeOrphaned: true, homeInstance: null, detachedHomeInstance: host })
      const seen = (await identity.call('GET', `/api/users/${user.id}`, { as: other })).body
      expect(seen).to.not.have.any.keys('federationHomeOrphaned', 'detachedHomeInstance')
    })

    it('leaves an account that its former home neither deletes, renames nor logs in', async () => {
      await detach()

      const identityOf = { homeUserId: 'old', homeInstance: host, mode: 'full' } as const
      const deletion = await identity.deps.bus.request(deleteFederatedIdentity, identityOf, { timeoutMs })
      const logIn = (password: string) =>
        identity.call('POST', '/api/auth/login', { body: { username: user.username, password } })
      const profile = await identity.call('PATCH', '/api/users/@me', { as: user, body: { displayName: 'Ivy' } })
      const registration = { username: `ivy@${host}`, password: testPassword, homeInstance: host, homeUserId: 'new' }
      const registered = await identity.call('POST', '/api/auth/register', { body: registration })

      expect(deletion).to.deep.equal({ outcome: 'absent' })
      expect([(await logIn(testPassword)).status, (await logIn('another one')).status]).to.deep.equal([200, 401])
      expect([profile.status, registered.status]).to.deep.equal([200, 409])
      expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
    })
  })

  describe('reattach', () => {
    /** Contract: 7, Reattach. */
    it('binds the account to the identity that its home confirms, with its name and profile', async () => {
      await detach()
      identity.federation.proof = { outcome: 'valid', homeUserId: 'new', username: 'ivy_b' }
      identity.federation.user = { outcome: 'found', username: 'ivy_b', profile: { displayName: 'Ivy B.' } }

      const { status, body } = await reattach()

      expect([status, body.success]).to.deep.equal([200, true])
      const bound = { homeInstance: host, homeUserId: 'new', username: `ivy_b@${host}`, displayName: 'Ivy B.' }
      expect(body.user).to.include({ ...bound, id: user.id, federationHomeOrphaned: false })
      expect(identity.federation.asked).to.deep.include({ host, token })
      expect((await reattach()).status).to.equal(403)
    })

    it('ends the stub of the new identity, and goes on without a profile', async () => {
      await detach()
      const stub = await buildStub(identity, { username: `ivy_1@${host}`, homeInstance: host, homeUserId: 'new' })

      expect((await reattach()).status).to.equal(200)
      expect((await readUser(identity, stub.id)).isDeleted).to.equal(true)
      expect(await readUser(identity, user.id)).to.include({ homeUserId: 'new', isDeleted: false })
    })

    it('is refused where the home suspended the new identity after it had confirmed the proof', async () => {
      await detach()
      const suspended = { homeInstance: host, homeUserId: 'new', homeSuspendedAt: identity.clock.now() }
      const stub = await buildStub(identity, { username: `ivy_1@${host}`, ...suspended })

      const refused = await reattach()
      const kept = await readUser(identity, stub.id)
      await identity.deps.orm.em.fork().execute('update users set home_suspended_at = null where id = ?', [stub.id])

      expect([refused.status, refused.body['code'], kept.isDeleted]).to.deep.equal([401, 'proof_invalid', false])
      expect(await readUser(identity, user.id)).to.include({ federationHomeOrphaned: true, homeUserId: null })
      expect((await reattach()).status).to.equal(200)
    })

    /** Contract: 3, Identity providers. */
    it('leaves no identity of a provider, with which the account logged in while it was local', async () => {
      await detach()
      const linked = await linkIdentity(identity, user)
      await buildTicket(identity, linked, { purpose: 'login', userId: null })
      const found = async () => [
        await identity.deps.orm.em.fork().count(LinkedIdentity, { userId: user.id }),
        await countTickets(identity, { subject: linked.subject }),
      ]
      expect(await found()).to.deep.equal([1, 1])

      expect((await reattach()).status).to.equal(200)

      expect(await found()).to.deep.equal([0, 0])
    })

    it('merges the stub of the new identity into the account', async () => {
      await detach()
      const stub = await buildStub(identity, { username: `ivy_1@${host}`, homeInstance: host, homeUserId: 'new' })
      const [friend, common] = [await buildUser(identity), await buildUser(identity)]
      const space = await buildSpace(identity, friend)
      const shared = await buildSpace(identity, friend)
      const channel = await buildChannel(identity, space)
      const message = await buildMessage(identity, { channelId: channel, author: stub })
      const direct = await buildDirectMessages(identity, { members: [friend, stub] })
      const both = { user_id: [user.id, stub.id] }
      for (const user_id of both.user_id) await insertRow(identity, 'space_members', { space_id: shared, user_id })
      await insertRow(identity, 'space_members', { space_id: space, user_id: stub.id })
      await insertRow(identity, 'bans', { space_id: shared, user_id: stub.id })
      for (const [user_id, friend_id] of [
        [stub.id, friend.id],
        [friend.id, stub.id],
        [stub.id, common.id],
        [user.id, common.id],
        [user.id, stub.id],
      ]) {
        await insertRow(identity, 'friendships', { user_id, friend_id })
      }

      expect((await reattach()).status).to.equal(200)

      const of = (table: string, column_ = 'user_id') =>
        rowsOf(identity, `select count(*)::int as count from ${table} where ${column_} = ?`, [user.id])
      expect(await column(identity, 'select author_id from messages where id = ?', [message])).to.deep.equal([user.id])
      expect(
        await column(identity, 'select user_id from dm_members where channel_id = ? order by user_id', [direct]),
      ).to.have.members([friend.id, user.id])
      expect(await of('space_members')).to.deep.equal([{ count: 2 }])
      expect(await of('bans')).to.deep.equal([{ count: 1 }])
      expect(await of('friendships')).to.deep.equal([{ count: 2 }])
      expect(await of('friendships', 'friend_id')).to.deep.equal([{ count: 1 }])
      expect((await readUser(identity, stub.id)).isDeleted).to.equal(true)
    })

    it('leaves another real account of the identity as it is', async () => {
      await detach()
      const holder = await buildUser(identity, { username: `new@${host}`, homeInstance: host, homeUserId: 'new' })

      expect((await reattach()).status).to.equal(409)
      expect(await self()).to.include({ federationHomeOrphaned: true })
      expect((await readUser(identity, holder.id)).isDeleted).to.equal(false)
    })

    it('keeps the name where the new one is taken', async () => {
      await detach()
      identity.federation.proof = { outcome: 'valid', homeUserId: 'new', username: 'taken' }
      await buildUser(identity, { username: `taken@${host}` })

      expect((await reattach()).status).to.equal(200)
      expect((await readUser(identity, user.id)).username).to.equal(`ivy@${host}`)
    })

    it('refuses what is not proven, and accounts that are not detached', async () => {
      expect((await reattach()).status).to.equal(403)
      await detach()
      for (const given of ['', 'AB'.repeat(32), 'ab'.repeat(31)]) {
        expect((await reattach(user, given)).status).to.equal(400)
      }
      const proofs = [
        [{ outcome: 'no_peer' }, 409],
        [{ outcome: 'unreachable' }, 502],
        [{ outcome: 'invalid' }, 401],
        [{ outcome: 'valid' }, 401],
        [{ outcome: 'valid', homeUserId: 'x'.repeat(65), username: 'ivy' }, 401],
      ] as const
      for (const [proof, status] of proofs) {
        identity.federation.proof = proof
        expect((await reattach()).status, JSON.stringify(proof)).to.equal(status)
      }
      expect(await self()).to.include({ federationHomeOrphaned: true })
    })

    it('asks an admin to give up the role first', async () => {
      await detach()
      await identity.deps.orm.em.fork().execute('update users set is_admin = true where id = ?', [user.id])

      expect((await reattach()).status).to.equal(409)
    })
  })

  describe('attach-proof', () => {
    const prove = (as: User, targetDomain: unknown = 'There.example:8443') =>
      identity.call('POST', '/api/auth/attach-proof', { as, body: { targetDomain } })

    it('is a random token for one host and a minute, of which only the hash is stored', async () => {
      const native = await buildUser(identity)

      const [first, second] = [await prove(native), await prove(native)]

      expect([first.status, second.status]).to.deep.equal([200, 200])
      expect(first.body.token)
        .to.match(/^[0-9a-f]{64}$/)
        .and.not.equal(second.body.token)
      const stored = await column(
        identity,
        `select token_hash || ' ' || target_domain || ' ' || extract(epoch from expires_at) * 1000
         from attach_proofs where user_id = ? order by token_hash`,
        [native.id],
      )
      const hashes = [first, second].map(({ body }) => createHash('sha256').update(String(body.token)).digest('hex'))
      const read = stored.map((row) => row.split(' '))
      expect(read.map(([hash]) => hash)).to.deep.equal(hashes.toSorted())
      for (const [, target, expires] of read) {
        expect([target, Number(expires)]).to.deep.equal(['there.example', identity.clock.now() + 60_000])
      }
    })

    it('ends with the token that issued it', async () => {
      const admin = await buildUser(identity, { isAdmin: true })
      const other = await buildUser(identity)
      await prove(other)
      const proofsOf = ({ id }: User) =>
        column(identity, 'select user_id::text from attach_proofs where user_id = ?', [id])
      const confirmed = { password: testPassword, currentPassword: testPassword, newPassword: 'a password of my own' }
      const own = ['change-password', 'sessions/end'].map((act) => `/api/users/@me/${act}`)
      for (const path of [...own, 'suspend', 'reset-password', 'sessions/end']) {
        const native = await buildUser(identity)
        await prove(native)
        const issued = await proofsOf(native)
        const act = own.includes(path)
          ? identity.call('POST', path, { as: native, body: confirmed })
          : identity.call('POST', `/api/admin/users/${native.id}/${path}`, { as: admin })
        const { status } = await act

        expect([status, issued, await proofsOf(native)], path).to.deep.equal([200, [native.id], []])
      }
      expect(await proofsOf(other)).to.deep.equal([other.id])
    })

    it('is for accounts of this instance, and for other hosts', async () => {
      const native = await buildUser(identity)
      expect((await prove(user)).status).to.equal(403)
      await detach()
      expect((await prove(user)).status).to.equal(403)
      const bad = ['', ' ', 'https://there.example', 'there.example/x', 'HERE.example', 7, 'x'.repeat(254)]
      for (const target of bad) expect((await prove(native, target)).status, String(target)).to.equal(400)
    })
  })
})
