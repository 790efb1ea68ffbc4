import { closeCodes } from '@gatehouse/contracts/constants'
import type { SessionEnd } from '../session/session.ts'

export const tokenRefused: SessionEnd = {
  reason: 'token_refused',
  message: 'Your session has ended. Please log in again.',
}
const deleted: SessionEnd = { reason: 'account_deleted', message: 'This account has been deleted.' }

/** After all others the client reconnects. Contract: 6. */
const sessionEnds: Readonly<Record<number, SessionEnd>> = {
  [closeCodes.invalidToken]: tokenRefused,
  [closeCodes.tokenRevoked]: tokenRefused,
  [closeCodes.accountDeletedAtHandshake]: deleted,
  [closeCodes.passwordReset]: {
    reason: 'password_reset',
    message: 'An administrator has reset your password. Log in with the new one.',
  },
  [closeCodes.accountDeleted]: deleted,
}

export function findSessionEnd(closeCode: number): SessionEnd | null {
  return sessionEnds[closeCode] ?? null
}
