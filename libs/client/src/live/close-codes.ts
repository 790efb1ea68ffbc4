import type { SessionEnd } from '../session/session.ts'

const changed = 'Your password was changed. Please log in again.'

/** What a close code says about the session; null for all others: reconnect. Contract: 6. */
const endings: Readonly<Record<number, SessionEnd>> = {
  4003: { reason: 'token_refused', message: 'Your session has ended. Please log in again.' },
  4004: { reason: 'token_refused', message: changed },
  4005: { reason: 'account_deleted', message: 'This account has been deleted.' },
  4010: { reason: 'password_reset', message: 'An administrator has reset your password. Log in with the new one.' },
  4011: { reason: 'account_deleted', message: 'This account has been deleted.' },
}

/** Why the session is over after this close code, or null when the connection should just be made again. */
export function findSessionEnd(closeCode: number): SessionEnd | null {
  return endings[closeCode] ?? null
}
