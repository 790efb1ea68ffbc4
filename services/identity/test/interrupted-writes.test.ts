import { applyRemoteProfiles } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { toErrorResponse } from '@gatehouse/runtime'
import { answered, interruptEach, openFaultyWrites, writeFaults, type FaultyWrites } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import sharp from 'sharp'
import { buildInvite, buildUser, setGates } from './builders.ts'
import { buildDirectMessage, buildDirectMessages, column } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { buildRegistration, freshName, setApproval } from './registration-builders.ts'

/** Gives the status. */
type Attempt = () => Promise<number>

const day = 24 * 60 * 60_000

/** Contract: 8, PostgreSQL. */
describe('Where PostgreSQL ends a connection, or its disk is full, in the middle of', () => {
  let identity: TestIdentity
  let writes: FaultyWrites
  let admin: User
  let user: User
  before(async () => {
    identity = await startTestIdentity()
    writes = await openFaultyWrites(identity.deps.orm)
    admin = await buildUser(identity, { isAdmin: true })
    await setGates(identity, { registrationOpen: false })
  })
  beforeEach(async () => void (user = await buildUser(identity)))
  after(async () => await identity[Symbol.asyncDispose]())

  const call = async (...request: Parameters<TestIdentity['call']>) => (await identity.call(...request)).status
  const upload = async () => {
    const picture = sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    const body = new FormData()
    body.set('file', new File([new Uint8Array(await picture.png().toBuffer())], 'a.png', { type: 'image/png' }))
    return await identity.call('POST', '/api/uploads', { as: user, body })
  }
  const files = async () => [
    ...(await readdir(identity.config.uploadDir)),
    ...(await readdir(`${identity.config.uploadDir}/.incoming`)),
  ]
  const byAdmin = (method: string, path: string, body?: object) => async () =>
    await call(method, path, { as: admin, ...(body && { body }) })

  const operations: Record<string, () => Promise<Attempt>> = {
    'a registration that redeems an invite': async () => {
      const { token: inviteToken } = await buildInvite(identity)
      const body = { username: `invited_${user.id.slice(-8)}`, password: testPassword, inviteToken }
      return async () => await call('POST', '/api/auth/register', { body })
    },
    'a login': async () => async () =>
      await call('POST', '/api/auth/login', { body: { username: user.username, password: testPassword } }),
    'a change of the password': async () => {
      const body = { currentPassword: testPassword, newPassword: 'a better password' }
      return async () => await call('POST', '/api/users/@me/change-password', { as: user, body })
    },
    'a change of the profile': async () => async () =>
      await call('PATCH', '/api/users/@me', { as: user, body: { bio: 'new', displayName: 'Ada' } }),
    'an upload': async () => async () => (await upload()).status,
    'the end of all sessions': async () => async () =>
      await call('POST', '/api/users/@me/sessions/end', { as: user, body: { password: testPassword } }),
    'a deletion of the own account': async () => {
      const avatar = String((await answered(upload())).body['filename'])
      await answered(identity.call('PATCH', '/api/users/@me', { as: user, body: { avatar } }))
      const channelId = await buildDirectMessages(identity, { members: [user, admin] })
      await buildDirectMessage(identity, { channelId, author: user, reactors: [admin] })
      const body = { username: user.username, password: testPassword }
      return async () => await call('DELETE', '/api/users/@me', { as: user, body })
    },
    'a list that forgets an instance': async () => {
      const origin = 'https://left.example'
      const sql = 'update users set replicated_instances = ? where id = ?'
      await identity.deps.orm.em.fork().execute(sql, [JSON.stringify([{ origin, username: 'me' }]), user.id])
      const body = { password: testPassword, mode: 'leave', origins: [origin] }
      return async () => await call('POST', '/api/users/@me/federation-identity/delete', { as: user, body })
    },
    'a change of a role': async () => byAdmin('PATCH', `/api/admin/users/${user.id}/role`, { isAdmin: true }),
    'a suspension': async () => byAdmin('POST', `/api/admin/users/${user.id}/suspend`, { reason: 'spam' }),
    'a reset of a password': async () => byAdmin('POST', `/api/admin/users/${user.id}/reset-password`),
    'a change of the settings': async () => byAdmin('PATCH', '/api/settings/instance', { contact: `of ${user.id}` }),
    'a registration that waits': async () => {
      await setApproval(identity, { approvalRequired: true, registrationOpen: true, firstAdminId: admin.id })
      const body = { username: freshName(), password: testPassword }
      return async () => await call('POST', '/api/auth/register', { body })
    },
    'an approval': async () => {
      const { id } = await buildRegistration(identity)
      return byAdmin('POST', `/api/admin/registrations/${id}/approve`)
    },
    'a denial that blocks a network': async () => {
      const { id } = await buildRegistration(identity)
      return byAdmin('POST', `/api/admin/registrations/${id}/deny`, { block: true })
    },
    'the profile that a peer reports': async () => {
      const home = { homeInstance: 'home.example', homeUserId: `h${user.id}` }
      await buildUser(identity, { username: `h${user.id.slice(-8)}@home.example`, ...home })
      const shown = { username: 'renamed', displayName: 'Ivy', bio: null, avatar: null, banner: null }
      const profile = {
        ...shown,
        homeUserId: home.homeUserId,
        profileUpdatedAt: 10,
        accentColor: null,
        avatarColor: null,
      }
      const request = { origin: 'https://home.example', host: 'home.example', profiles: [profile] }
      const report = () => identity.deps.bus.request(applyRemoteProfiles, request, { timeoutMs: 20_000 })
      return async () =>
        await report().then(
          ({ applied }) => (applied === 1 ? 200 : 404),
          (error: unknown) => toErrorResponse(error).refusal.status,
        )
    },
  }

  const state = async () => ({ tables: await writes.read(), files: await files() })

  for (const [name, prepare] of Object.entries(operations)) {
    it(`${name}, it is 503, nothing is half done, and the same succeeds right afterwards`, async () => {
      const attempt = await prepare()

      const statuses = await interruptEach(writes, { attempt, read: state })

      // The last is right, the first had a full disk, and at least one lost its connection.
      expect(statuses.length).to.be.greaterThan(2)
      expect(statuses.at(-1)).to.be.oneOf([200, 201, 202])
    })
  }

  it('the relay of the outbox, each event is published and then leaves the outbox', async () => {
    for (const fault of writeFaults) {
      await writes.untilPublished()
      const failures = () => identity.logLines.filter(({ msg }) => String(msg).startsWith('outbox relay failed'))
      const before = failures().length
      const publish = async () => {
        const status = await call('PATCH', '/api/users/@me', { as: user, body: { bio: fault } })
        if (status === 200) await writes.untilPublished()
        return status
      }
      for (let count = 1, isRefused = true; isRefused; count += 1)
        isRefused = (await writes.failDuring(publish, { count, fault })).value === 503
      // The statement after those of the change is the relay's.
      expect(failures()).to.have.length(before + 1)
    }
  })

  it('a cleanup of uploads, the next one does all of it', async () => {
    for (const fault of writeFaults) {
      for (const count of [1, 2]) {
        await writes.untilPublished()
        const { filename } = (await answered(upload())).body
        identity.clock.advance(day + 1)
        const cleanUp = () => identity.deps.uploadCleanup.runNow()

        const { hasFailed } = await writes.failDuring(cleanUp, { count, fault })
        const kept = await files()
        await cleanUp()

        expect(hasFailed).to.equal(true)
        expect(await files()).to.not.include(filename)
        if (count === 1) expect(kept).to.include(filename)
        expect(await column(identity, 'select filename from file_removals')).to.deep.equal([])
      }
    }
  })
})
