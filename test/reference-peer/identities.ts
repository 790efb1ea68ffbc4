import { call, isSuccess } from './calls.ts'
import type { Answer } from './calls.ts'
import { requireSigned } from './checks.ts'
import { field, textField } from './fields.ts'
import type { Instance, User } from './instance.ts'
import { hostOf, isSameHost } from './origins.ts'
import { Refused, refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'
import { liveUsers, tombstone } from './users.ts'

const path = '/api/federation/identity'

/** The user is looked up by homeUserId alone; the homeInstance of the body is required and never compared. wire: 3 */
export function answerDeleteIdentity(instance: Instance, request: ReceivedRequest): Reply {
  const peer = requireSigned(instance, request)
  const [homeUserId, homeInstance] = [textField(request.body, 'homeUserId'), textField(request.body, 'homeInstance')]
  const mode = textField(request.body, 'mode')
  if (homeUserId === null || homeInstance === null) throw refused(400, 'homeUserId and homeInstance are required')
  if (mode !== 'soft' && mode !== 'full') throw refused(400, 'mode must be soft or full')
  const user = liveUsers(instance).find((live) => live.homeUserId === homeUserId)
  if (!user || user.detached) return reply(200, { success: true })
  if (user.homeInstance === null || !isSameHost(user.homeInstance, peer.origin)) throw refused(403, 'Not your user')
  if (user.ownedSpaces.length > 0) {
    throw new Refused(reply(409, { error: 'owns_spaces', ownedSpaces: user.ownedSpaces, statusCode: 409 }))
  }
  tombstone(user)
  return reply(200, { success: true })
}

export type DeletionMode = 'leave' | 'soft' | 'full'
export type DeletionResult = { success: true } | { success: false; error: string; ownedSpaces?: unknown }

type Deletion = { origins: string[]; mode: DeletionMode }

/** What the home sends when its user asks; each success drops the origin from both lists. wire: 3 */
export async function deleteRemoteIdentities(instance: Instance, user: User, { origins, mode }: Deletion) {
  const results: Record<string, DeletionResult> = {}
  await Promise.all(
    origins.map(async (origin) => {
      const result = await deleteAt(instance, user, { origin, mode })
      results[origin] = result
      if (result.success) forgetOrigin(instance, user, origin)
    }),
  )
  return results
}

/** Origins are compared as text. `leave` sends nothing. wire: 3 */
async function deleteAt(
  instance: Instance,
  user: User,
  { origin, mode }: { origin: string; mode: DeletionMode },
): Promise<DeletionResult> {
  if (mode === 'leave') return { success: true }
  const peer = instance.peers.get(origin)
  if (peer?.status !== 'active') return { success: false, error: 'no_active_peer' }
  const body = { homeUserId: user.id, homeInstance: hostOf(instance.origin), mode }
  const timeoutMs = instance.timeoutsMs.deletion
  return readResult(await call(instance, { origin, method: 'DELETE', path, body, secret: peer.secret, timeoutMs }))
}

/** Any 2xx is a success if its body is JSON; a body that is not reads `unreachable`. wire: 3 */
function readResult(answer: Answer): DeletionResult {
  if (answer.failure) return { success: false, error: answer.failure }
  if (answer.body === undefined) return { success: false, error: 'unreachable' }
  if (isSuccess(answer)) return { success: true }
  const error = textField(answer.body, 'error') ?? `HTTP ${answer.status}`
  const ownedSpaces = field(answer.body, 'ownedSpaces')
  return { success: false, error, ...(ownedSpaces === undefined ? {} : { ownedSpaces }) }
}

function forgetOrigin(instance: Instance, user: User, origin: string): void {
  user.replicatedInstances = user.replicatedInstances.filter((replicated) => replicated.origin !== origin)
  user.registry = user.registry.filter((entry) => entry.origin !== origin)
  user.registryUpdatedAt = instance.now()
}
