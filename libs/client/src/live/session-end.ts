import { closeCodes } from '@gatehouse/contracts/constants'
import type { SessionEnd } from '../session/session.ts'

/** The instance does not accept the token any more. */
export const tokenRefused: SessionEnd = {
  reason: 'token_refused',
  message: 'Your session has ended. Please log in again.',
}
const deleted: SessionEnd = { reason: 'account_deleted', message: 'This account has been deleted.' }

/** The close codes that end the session; after all others the client reconnects. Contract: 6. */
const sessionEnds: Readonly<Record<number, SessionEnd>> = {
  [closeCodes.invalidToken]: tokenRefused,
  // The password was changed, all sessions were ended elsewhere, or the token has expired.
  [closeCodes.tokenRevoked]: tokenRefused,
  [closeCodes.accountDeletedAtHandshake]: deleted,
  [closeCodes.passwordReset]: {
    reason: 'password_reset',
    message: 'An administrator has reset your password. Log in with the new one.',
  },
  [closeCodes.accountDeleted]: deleted,
}

/** Why the session is over after this close code, or null when the client should reconnect. */
export function findSessionEnd(closeCode: number): SessionEnd | null {
  return sessionEnds[closeCode] ?? null
}
