import * as closeCodes from './close-codes.ts'

/** Code and message of the error sent before closing. Contract: 6. */
export const closures = {
  authenticationTimeout: {
    code: closeCodes.authenticationTimeout,
    message: 'Authentication timeout',
    error: 'authentication_timeout',
  },
  firstMessageNotAuth: {
    code: closeCodes.firstMessageNotAuth,
    message: 'First message must be auth',
    error: 'first_message_not_auth',
  },
  invalidToken: { code: closeCodes.invalidToken, message: 'Invalid token', error: 'invalid_token' },
  tokenRevoked: { code: closeCodes.tokenRevoked, message: 'Token has been revoked', error: 'token_revoked' },
  accountDeletedAtHandshake: {
    code: closeCodes.accountDeletedAtHandshake,
    message: 'This account has been deleted',
    error: 'account_deleted',
  },
  tooManyConnections: {
    code: closeCodes.tooManyConnections,
    message: 'Too many connections',
    error: 'too_many_connections',
  },
  passwordReset: { code: closeCodes.passwordReset, message: 'Password reset', error: 'password_reset' },
  accountDeleted: { code: closeCodes.accountDeleted, message: 'Account deleted', error: 'account_deleted' },
  accountSuspended: {
    code: closeCodes.accountSuspended,
    message: 'Account suspended',
    error: 'account_suspended',
  },
  messageTooBig: { code: closeCodes.messageTooBig, message: 'Message too big', error: 'message_too_big' },
  unavailable: {
    code: closeCodes.unavailable,
    message: 'Service temporarily unavailable, please try again',
    error: 'unavailable',
  },
  goingAway: { code: closeCodes.goingAway, message: 'Server is restarting', error: 'going_away' },
} as const satisfies Record<keyof typeof closeCodes, { code: number; message: string; error: string }>
export type Closure = (typeof closures)[keyof typeof closures]
