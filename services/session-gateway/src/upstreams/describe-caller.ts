import type { UpstreamCaller } from '@gatehouse/contracts'
import type { OperationContext } from '../deps.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'

/** Each call makes a request id. */
export function describeCaller(
  { user, sessionId }: AuthenticatedSocket,
  { random }: Pick<OperationContext, 'random'>,
): UpstreamCaller {
  const { id: userId, username, isAdmin } = user
  return { userId, username, isAdmin, sessionId, requestId: random.uuid() }
}
