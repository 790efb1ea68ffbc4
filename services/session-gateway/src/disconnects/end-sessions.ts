import { closures, type accountSessionsEnded } from '@gatehouse/contracts'
import type { z } from 'zod'
import type { LocalUser } from '../connections.ts'
import type { Deps } from '../deps.ts'
import { endSocket } from '../socket/end-socket.ts'

export type SessionsEnded = Pick<z.infer<typeof accountSessionsEnded.payload>, 'userId' | 'reason' | 'at'>

/**
 * Closes an account's sockets on this node. After a reset, those whose token was born later stay, for the event may come
 * late; a token of the very second is closed too and may come again. Spec: Admin reset 3, DELETE self 4; Contract: 6.
 */
export function endSessions(deps: Deps, { userId, reason, at }: SessionsEnded): void {
  const user = deps.connections.find(userId)
  if (!user) return
  const lastBirth = reason === 'account_deleted' ? Infinity : Math.floor(at / 1000)
  closeThoseBornUpTo(deps, user, { reason, lastBirth })
}

/** Ends the sockets of a user whose tokens were born in the second `lastBirth` or before. */
export function closeThoseBornUpTo(
  deps: Deps,
  user: LocalUser,
  { reason, lastBirth }: { reason: SessionsEnded['reason']; lastBirth: number },
): void {
  const doomed = [...user.sockets].filter((socket) => socket.iat <= lastBirth)
  // No grace for who was thrown out: they are seen to leave at once.
  if (doomed.length === user.sockets.size) user.isDue = true
  const closure = reason === 'account_deleted' ? closures.accountDeleted : closures.passwordReset
  for (const socket of doomed) endSocket(deps, socket, closure)
  if (doomed.length === 0 && user.isDue) deps.presence.abandon(user)
  deps.meters.forcedDisconnects.inc({ reason }, doomed.length)
}
