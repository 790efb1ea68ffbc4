import { randomBytes, randomUUID } from 'node:crypto'
import type { Check } from './run.ts'
import { ask, askSigned, holds, NotApplicable, oneOf, same, waitFor, type Side } from './side.ts'

const register = 'POST /api/auth/register'
const registry = '/api/users/@me/federation-registry'

/** Of an account whose home is the reference peer, which the first of them makes and the last deletes; and of the account of the run. */
export const accountChecks: Check[] = [
  {
    name: 'registration of a user of the reference peer',
    rows: ['6.1 peer/accept, epoch, instance/info'],
    run: async (side) => {
      const home = side.peer.addUser({ username: `check_${randomBytes(5).toString('hex')}`, password: randomUUID() })
      const { hostname } = new URL(side.peer.origin)
      const person = { username: `${home.username}@${hostname}`, password: home.password! }
      const { status, body } = await ask(side, register, {
        body: { ...person, homeInstance: hostname, homeUserId: home.id },
      })
      if (status === 403) {
        if (side.generation === 2) same('code', body.code, 'federated_registration_closed')
        throw new NotApplicable('federated registration is closed')
      }
      if (status === 400) throw new NotApplicable(`${hostname} is no home to the target: ${String(body.error)}`)
      const { id } = (body.user ?? {}) as { id: string }
      side.replica = { ...person, id, token: String(body.token), homeUserId: home.id }
      return same('status', status, 201)
    },
  },
  {
    name: 'registration of a name that is taken',
    rows: ['5.3 409'],
    run: async (side) => {
      const { username, password } = replicaOf(side)
      const homeInstance = new URL(side.peer.origin).hostname
      const again = { username, password, homeInstance, homeUserId: `${BigInt(replicaOf(side).homeUserId) + 1n}` }
      const { status, body } = await ask(side, register, { body: again })
      same('status', status, 409)
      holds(
        'the words "already taken", or the code',
        /already taken/.test(String(body.error)) || body.code === 'username_taken',
      )
      return `409 ${String(body.code ?? body.error)}`
    },
  },
  {
    name: 'a profile that the home relays',
    rows: ['6.1 relay'],
    run: async (side) => {
      const { homeUserId, token } = replicaOf(side)
      const profileUpdate = {
        homeUserId,
        homeInstance: side.peer.origin,
        profileUpdatedAt: Date.now(),
        username: 'check',
        displayName: 'Checked',
        avatar: null,
        banner: null,
        accentColor: null,
        avatarColor: null,
        bio: 'By a check',
      }
      const event = { eventType: 'profile_update', contextType: 'profile', messageId: homeUserId, encryptionVersion: 0 }
      const body = {
        version: 1,
        sourceInstance: side.peer.origin,
        sourceInstanceId: side.peer.instanceId(),
        events: [{ ...event, timestamp: Date.now(), profileUpdate }],
      }
      const { body: said } = await askSigned(side, 'POST /api/federation/relay', body)
      same('accepted', said.accepted, [homeUserId])
      const shown = await waitFor(async () => {
        const { status, text } = await ask(side, 'GET /api/users/@me', { token })
        if (status === 404) throw new NotApplicable('accepted; GET /api/users/@me is 404')
        return text.includes('By a check') || undefined
      }, 5_000)
      return holds('accepted, and the target shows it', shown === true)
    },
  },
  {
    name: 'the registry: read, write, an older one, a malformed one',
    rows: ['6.1 peer/ensure, federation-registry, mode leave', '5.3 409'],
    run: async (side) => {
      const { token } = replicaOf(side)
      const before = await ask(side, `GET ${registry}`, { token })
      if (before.status === 404) throw new NotApplicable('404: the target has no registry')
      holds('registry and updatedAt', Array.isArray(before.body.registry) && Number.isInteger(before.body.updatedAt))
      const put = (body: object) => ask(side, `PUT ${registry}`, { token, body })
      const updatedAt = Date.now()
      const [written, older, malformed] = [
        await put({ registry: [], updatedAt }),
        await put({ registry: [], updatedAt: updatedAt - 1 }),
        await put({ registry: 'none', updatedAt: updatedAt + 1 }),
      ]
      if (side.generation === 2) same('code', older.body.code, 'registry_conflict')
      return same('status', [before.status, written.status, older.status, malformed.status], [200, 200, 409, 400])
    },
  },
  {
    name: 'a change of password with a wrong one',
    rows: ['5.3 403'],
    run: async (side) => {
      const body = { currentPassword: randomUUID(), newPassword: randomUUID() }
      const answer = await ask(side, 'POST /api/users/@me/change-password', { token: replicaOf(side).token, body })
      if (answer.status === 404) throw new NotApplicable('404: the target has no such endpoint')
      if (answer.status === 200) throw new NotApplicable('replicas change it without the current one')
      if (side.generation === 1) return same('status', answer.status, 403)
      return same('status and code', [answer.status, answer.body.code], [403, 'current_password_incorrect'])
    },
  },
  {
    name: 'deletion of that identity',
    rows: ['6.1 DELETE identity', '3.1 200 {"success":true}', '5.3 401'],
    run: async (side) => {
      const { username, password, token } = replicaOf(side)
      same('deletion', await deleteReplica(side), 200)
      const used = await ask(side, `GET ${registry}`, { token })
      const login = await ask(side, 'POST /api/auth/login', { body: { username, password } })
      if (side.generation === 2) oneOf('code', login.body.code, ['account_deleted', 'invalid_credentials'])
      return `${oneOf('its token', used.status, [401, 404])}, ${same('its login', login.status, 401)}`
    },
  },
  {
    name: 'peer/ensure of an active peer, and with another reason',
    rows: ['6.1 peer/ensure, federation-registry, mode leave', '0 2026-09-27'],
    run: async (side) => {
      const token = account(side).token
      const ensure = (body: object) => ask(side, 'POST /api/federation/peer/ensure', { token, body })
      const { status, body } = await ensure({ remoteOrigin: side.peer.origin })
      const shown = same('answer', [status, body.peeringStatus], [200, 'active'])
      if (side.generation === 1) return shown
      const other = await ensure({ remoteOrigin: side.peer.origin, reason: 'friend_add' })
      return `${shown}, ${same('another reason', [other.status, other.body.code], [400, 'validation_failed'])}`
    },
  },
  {
    name: 'the password issued for another instance',
    rows: ['6.1 federation-credential'],
    generation: 2,
    run: async (side) => {
      const token = account(side).token
      const issue = (origin: string) =>
        ask(side, 'POST /api/users/@me/federation-credential', { token, body: { origin } })
      const [first, again, own] = [
        await issue(side.peer.origin),
        await issue(side.peer.origin),
        await issue(side.origin),
      ]
      same('status', [first.status, again.status], [200, 200])
      holds(
        '43 characters, the same again',
        /^[\w-]{43}$/.test(String(first.body.secret)) && first.body.secret === again.body.secret,
      )
      return same('of the own origin', [own.status, own.body.code], [400, 'federation_credential_remote_only'])
    },
  },
]

function replicaOf({ replica: person }: Side) {
  if (!person) throw new NotApplicable('no account was made')
  return person
}

function account({ account: user }: Side) {
  if (!user) throw new NotApplicable('needs --user')
  return user
}

async function deleteReplica(side: Side): Promise<number> {
  const { homeUserId } = replicaOf(side)
  const body = { homeUserId, homeInstance: new URL(side.peer.origin).hostname, mode: 'full' }
  const { status } = await askSigned(side, 'DELETE /api/federation/identity', body)
  if (status === 200) replicaOf(side).deleted = true
  return status
}

/** Where the checks ended early. */
export async function removeMade(side: Side): Promise<void> {
  if (side.replica && !side.replica.deleted) await deleteReplica(side).catch(() => undefined)
}
