import type { UpstreamCaller } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'

/** Each call makes a request id. */
export function describeCaller(
  { session }: AuthenticatedSocket,
  { random }: Pick<OperationContext, 'random'>,
): UpstreamCaller {
  const { id: userId, username, isAdmin } = session.user
  return { userId, username, isAdmin, sessionId: session.id, requestId: random.uuid() }
}
