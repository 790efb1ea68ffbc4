import { call, isSuccess } from './calls.ts'
import type { Answer } from './calls.ts'
import { requireSigned } from './checks.ts'
import { field, nullableTextField, textField } from './fields.ts'
import type { Instance, Peer, User } from './instance.ts'
import { hostOf } from './origins.ts'
import { refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'
import { baseName, isStub, nativeUsers, usersOfHost } from './users.ts'

export type FoundUser = { homeUserId: string; username: string; profile: Record<string, string | number | null> }
export type Lookup = FoundUser | 'no_such_user' | 'wait' | 'unreachable'

/** Native live users only. wire: 4, lookups */
export function answerLookup(instance: Instance, request: ReceivedRequest): Reply {
  requireSigned(instance, request, { limit: 'lookups' })
  const username = textField(request.body, 'username')
  if (username === null) throw refused(400, 'username is required')
  const user = nativeUsers(instance).find((native) => native.username === username)
  if (!user) return reply(404, { found: false, code: 'user_not_found' })
  return reply(200, { found: true, user: lookupView(instance, user) })
}

export function answerByHomeId(instance: Instance, request: ReceivedRequest): Reply {
  requireSigned(instance, request, { limit: 'lookups' })
  const homeUserId = textField(request.body, 'homeUserId')
  if (homeUserId === null) throw refused(400, 'homeUserId is required')
  const user = nativeUsers(instance).find((native) => native.id === homeUserId)
  return reply(200, user ? { found: true, user: lookupView(instance, user) } : { found: false })
}

/** Pictures are bare file names. wire: 4, lookups */
function lookupView({ generation }: Instance, user: User): FoundUser {
  const { displayName, avatar, avatarColor, banner, bio, status } = user
  const { accentColor, profileUpdatedAt } = user
  const profile = {
    displayName,
    avatar,
    avatarColor,
    banner,
    bio,
    status,
    ...(generation === 2 && { accentColor, profileUpdatedAt }),
  }
  return { homeUserId: user.id, username: user.username, profile }
}

export async function lookUpByName(instance: Instance, peer: Peer, username: string): Promise<Lookup> {
  return readLookup(await ask(instance, peer, { path: '/api/federation/users/lookup', body: { username } }))
}

export async function lookUpByHomeId(instance: Instance, peer: Peer, homeUserId: string): Promise<Lookup> {
  return readLookup(await ask(instance, peer, { path: '/api/federation/users/by-home-id', body: { homeUserId } }))
}

/** Signed with the old secret while a rotation runs. wire: 2.8 */
async function ask(instance: Instance, { origin, secret }: Peer, question: { path: string; body: unknown }) {
  const timeoutMs = instance.timeoutsMs.message
  return await call(instance, { origin, method: 'POST', ...question, secret, timeoutMs })
}

function readLookup(answer: Answer): Lookup {
  if (answer.status === 404 || (isSuccess(answer) && field(answer.body, 'found') === false)) return 'no_such_user'
  if (answer.status === 429) return 'wait'
  const user = field(answer.body, 'user')
  const [homeUserId, username] = [textField(user, 'homeUserId'), textField(user, 'username')]
  if (!isSuccess(answer) || homeUserId === null || username === null) return 'unreachable'
  const profile = (field(user, 'profile') ?? {}) as Record<string, string | null>
  return { homeUserId, username, profile }
}

/** Stubs that are named by their id get the name they have at home. wire: 2.7 */
export async function refreshStubs(instance: Instance, peer: Peer): Promise<void> {
  const host = hostOf(peer.origin)
  if (host === null) return
  for (const stub of usersOfHost(instance, host)) {
    const homeUserId = stub.homeUserId
    if (homeUserId === null || !isStub(stub) || baseName(stub.username) !== homeUserId) continue
    const result = await lookUpByHomeId(instance, peer, homeUserId)
    if (typeof result === 'string') continue
    stub.username = `${result.username}@${host}`.toLowerCase()
    stub.displayName = nullableTextField(result.profile, 'displayName')
  }
}
