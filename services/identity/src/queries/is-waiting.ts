import type { Registration } from '@gatehouse/domain'
import { policy } from '../policy.ts'

/** A registration whose name and identity are its own. */
export type Waiting = Registration & { username: string }

/** Before these times it has expired, or its denial is final. */
export const boundsAt = (now: number) => ({
  created: new Date(now - policy.registrationMs),
  denied: new Date(now - policy.denialUndoMs),
})

/** A denied one too, while it can be restored. Contract: 3, Approval. */
export function isWaiting<Row extends Pick<Registration, 'username' | 'createdAt' | 'deniedAt'>>(
  registration: Row,
  now: number,
): registration is Row & { username: string } {
  const { username, createdAt, deniedAt } = registration
  const { created, denied } = boundsAt(now)
  return username != null && createdAt > created && (deniedAt == null || deniedAt > denied)
}
