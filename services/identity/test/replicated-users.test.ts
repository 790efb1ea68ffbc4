import { expect } from 'chai'
import {
  deleteFederatedIdentity,
  profileChanged,
  publicProfile,
  resolveReplicatedUser,
  userCreated,
  userDeleted,
  type DeletionMode,
} from '@gatehouse/contracts'
import { accountStateOf, sanitizeUser, stubPasswordHash } from '@gatehouse/domain'
import { forgetInstances } from '../src/operations/deletion/delete-remote-identities.ts'
import { policy } from '../src/policy.ts'
import { buildUser, collectEvents, readUser } from './builders.ts'
import { buildChannel, buildMessage, buildSpace, column } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const homeInstance = 'home.example'

describe('the calls of federation-fanout', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  let lastHomeUserId = 0
  const nextHomeUserId = () => String((lastHomeUserId += 1))
  const timeoutMs = 10_000
  type Remote = { homeUserId: string; homeInstance?: string; username?: string | null; displayName?: string | null }
  const resolve = (remote: Remote) =>
    identity.deps.bus.request(resolveReplicatedUser, { homeInstance, ...remote }, { timeoutMs })
  const remove = (homeUserId: string, mode: DeletionMode = 'soft', host = homeInstance) =>
    identity.deps.bus.request(deleteFederatedIdentity, { homeUserId, homeInstance: host, mode }, { timeoutMs })

  describe('the replicated-user resolver', () => {
    it('makes a stub that no password fits, and finds it again', async () => {
      const homeUserId = nextHomeUserId()

      await using events = await collectEvents(identity, [userCreated])
      const made = await resolve({ homeUserId, username: 'Ada@elsewhere.example', displayName: '  Ada L. ' })
      const again = await resolve({ homeUserId, homeInstance: 'HOME.example', username: 'renamed' })

      expect(made.created).to.equal(true)
      expect(again).to.deep.equal({ id: made.id, created: false })
      expect(await readUser(identity, made.id)).to.include({
        username: 'ada@home.example',
        displayName: 'Ada L.',
        passwordHash: '!federation-replicated',
        homeInstance,
        homeUserId,
        avatarColor: null,
        isAdmin: false,
        status: 'offline',
      })
      const body = { username: 'ada@home.example', password: '!federation-replicated' }
      expect((await identity.call('POST', '/api/auth/login', { body })).status).to.equal(401)
      const sql = "select 1 from outbox where payload ->> 'userId' = ?"
      expect(await column(identity, sql, [made.id])).to.deep.equal([])
      expect(events.published.filter(({ payload }) => payload['userId'] === made.id)).to.deep.equal([])
    })

    it('finds a real account of the identity', async () => {
      const homeUserId = nextHomeUserId()
      const user = await buildUser(identity, { username: 'real@home.example', homeInstance, homeUserId })

      expect(await resolve({ homeUserId, username: 'other' })).to.deep.equal({ id: user.id, created: false })
    })

    it('gives the next free name when one is taken', async () => {
      await buildUser(identity, { username: 'bob@home.example', homeInstance, homeUserId: nextHomeUserId() })

      const names = []
      for (let count = 0; count < 2; count += 1) {
        const { id } = await resolve({ homeUserId: nextHomeUserId(), username: 'bob' })
        names.push((await readUser(identity, id)).username)
      }

      expect(names).to.deep.equal(['bob~1@home.example', 'bob~2@home.example'])
    })

    it('makes exactly one stub for concurrent calls, and one name for each of concurrent namesakes', async () => {
      const homeUserId = nextHomeUserId()

      const same = await Promise.all(Array.from({ length: 16 }, () => resolve({ homeUserId, username: 'racer' })))
      const namesakes = await Promise.all(
        Array.from({ length: 8 }, () => resolve({ homeUserId: nextHomeUserId(), username: 'twin' })),
      )

      expect(new Set(same.map(({ id }) => id)).size).to.equal(1)
      expect(same.filter(({ created }) => created)).to.have.length(1)
      expect(new Set(namesakes.map(({ id }) => id)).size).to.equal(8)
    })

    it('is refused where no name fits beside the host, and where every name that it tries is taken', async () => {
      const codeOf = async (remote: Remote) =>
        await resolve(remote).then(
          () => 'made',
          (error: { code: string }) => error.code,
        )
      const [short, long] = ['a'.repeat(63), `${'a'.repeat(63)}.${'a'.repeat(38)}`].map((host) => `${host}.example`)
      const { random } = identity.deps
      for (const suffix of ['', ...Array.from({ length: policy.stubNameAttempts }, (_, index) => `~${index + 1}`)])
        await buildUser(identity, {
          username: `kay${suffix}@${homeInstance}`,
          homeInstance,
          homeUserId: nextHomeUserId(),
        })
      identity.deps.random = { ...random, bytes: () => Buffer.alloc(4) }
      await buildUser(identity, {
        username: `kay~00000000@${homeInstance}`,
        homeInstance,
        homeUserId: nextHomeUserId(),
      })

      const codes = [
        await codeOf({ homeUserId: nextHomeUserId(), homeInstance: short! }),
        await codeOf({ homeUserId: nextHomeUserId(), homeInstance: long! }),
        await codeOf({ homeUserId: nextHomeUserId(), username: 'kay' }),
      ]

      identity.deps.random = random
      expect(codes).to.deep.equal(['made', 'home_instance_invalid', 'username_taken'])
    })

    it('does not make a deleted identity again', async () => {
      const homeUserId = nextHomeUserId()
      await resolve({ homeUserId, username: 'gone' })
      await remove(homeUserId)

      const refusal = await resolve({ homeUserId, username: 'gone' }).catch((error: unknown) => error)

      expect(refusal).to.include({ code: 'not_found', status: 404 })
      expect(await column(identity, 'select 1 from users where home_user_id = ?', [homeUserId])).to.have.length(1)
    })

    it('Registration 8: works whatever the registration gates say', async () => {
      await identity.deps.orm.em
        .fork()
        .execute('update instance_settings set registration_open = false, federated_registration_open = false')

      expect((await resolve({ homeUserId: nextHomeUserId(), username: 'relayed' })).created).to.equal(true)
    })
  })

  describe('deletion of an identity', () => {
    it('tombstones the live account of it, publishes that, and answers absent when there is none', async () => {
      const homeUserId = nextHomeUserId()
      const user = await buildUser(identity, { username: 'x@home.example', homeInstance, homeUserId })
      await using events = await collectEvents(identity, [userDeleted])

      expect(await remove(homeUserId, 'soft', 'other.example')).to.deep.equal({ outcome: 'absent' })
      expect(await remove(homeUserId, 'soft', 'Home.Example')).to.deep.equal({ outcome: 'deleted' })
      expect(await remove(homeUserId)).to.deep.equal({ outcome: 'absent' })
      expect((await readUser(identity, user.id)).isDeleted).to.equal(true)
      const state = accountStateOf(await readUser(identity, user.id))
      const facts = { userId: user.id, at: identity.clock.now(), state, actor: null }
      const published = await events.ofUser(user.id, 1)
      expect(published.map(({ payload }) => payload)).to.deep.equal([{ ...facts, mode: 'soft', audience: [] }])
    })

    /** The unique index of identities keeps it to one row; data of other servers may have a stub beside the account. */
    it('tombstones every live row, the stub and the account', async () => {
      await using other = await startTestIdentity()
      await other.deps.orm.em.fork().execute('drop index users_identity_unique')
      const twin = { homeInstance, homeUserId: '7' }
      const stub = await buildUser(other, { ...twin, username: 'x~1@home.example', passwordHash: stubPasswordHash })
      const account = await buildUser(other, { ...twin, username: 'x@home.example' })
      const bystander = await buildUser(other, { homeInstance, homeUserId: '8', username: 'y@home.example' })

      const request = { homeUserId: '7', homeInstance, mode: 'soft' as const }
      const outcome = await other.deps.bus.request(deleteFederatedIdentity, request, { timeoutMs })

      expect(outcome).to.deep.equal({ outcome: 'deleted' })
      const users = [stub, account, bystander].map(({ id }) => readUser(other, id))
      expect((await Promise.all(users)).map(({ isDeleted }) => isDeleted)).to.deep.equal([true, true, false])
    })

    it('keeps messages in soft mode and deletes them in full mode', async () => {
      const staying = await buildUser(identity)
      const channelId = await buildChannel(identity, await buildSpace(identity, staying))
      for (const mode of ['soft', 'full'] as const) {
        const homeUserId = nextHomeUserId()
        const author = await buildUser(identity, { username: `${mode}@home.example`, homeInstance, homeUserId })
        await buildMessage(identity, { channelId, author })

        await remove(homeUserId, mode)

        const left = await column(identity, 'select 1 from messages where author_id = ?', [author.id])
        expect(left, mode).to.have.length(mode === 'soft' ? 1 : 0)
      }
    })

    it('is refused with owns_spaces while the account owns spaces', async () => {
      const homeUserId = nextHomeUserId()
      const owner = await buildUser(identity, { username: 'o@home.example', homeInstance, homeUserId })
      const spaceId = await buildSpace(identity, owner, 'theirs')

      const refusal = await remove(homeUserId).catch((error: unknown) => error)

      expect(refusal).to.include({ code: 'owns_spaces', status: 409, message: 'owns_spaces' })
      expect(refusal).to.have.deep.property('fields', { ownedSpaces: [{ id: spaceId, name: 'theirs' }] })
      expect((await readUser(identity, owner.id)).isDeleted).to.equal(false)
    })
  })

  it('forgets replicated instances by origin, however it is spelled, and leaves the others', async () => {
    const instances = [
      { origin: 'https://a.example', username: 'ada' },
      { origin: 'https://b.example', username: 'ada' },
    ]
    const user = await buildUser(identity, { replicatedInstances: instances, profileUpdatedAt: 5 })
    const origins = ['https://A.example/', 'https://never.example', 'nonsense']
    await using events = await collectEvents(identity, [profileChanged])

    for (const userId of [user.id, user.id, '1']) await forgetInstances(identity.deps, { userId, origins })

    const stored = await readUser(identity, user.id)
    expect(stored.replicatedInstances).to.deep.equal([instances[1]])
    const facts = { userId: user.id, at: identity.clock.now(), state: accountStateOf(stored) }
    const profile = publicProfile.parse(sanitizeUser(stored, false))
    const changed = { profileUpdatedAt: 5, changed: ['replicatedInstances'], profile }
    const published = await events.ofUser(user.id, 1)
    expect(published.map(({ payload }) => payload)).to.deep.equal([{ ...facts, ...changed }])
  })
})
