import * as closeCodes from './close-codes.ts'

/** Why the server closes a socket: the close code, and the error message sent before it. Contract: 6. */
export const closures = {
  authenticationTimeout: { code: closeCodes.authenticationTimeout, message: 'Authentication timeout' },
  firstMessageNotAuth: { code: closeCodes.firstMessageNotAuth, message: 'First message must be auth' },
  invalidToken: { code: closeCodes.invalidToken, message: 'Invalid token' },
  tokenRevoked: { code: closeCodes.tokenRevoked, message: 'Token has been revoked' },
  accountDeletedAtHandshake: { code: closeCodes.accountDeletedAtHandshake, message: 'This account has been deleted' },
  tooManyConnections: { code: closeCodes.tooManyConnections, message: 'Too many connections' },
  passwordReset: { code: closeCodes.passwordReset, message: 'Password reset' },
  accountDeleted: { code: closeCodes.accountDeleted, message: 'Account deleted' },
  messageTooBig: { code: closeCodes.messageTooBig, message: 'Message too big' },
  unavailable: { code: closeCodes.unavailable, message: 'Service temporarily unavailable, please try again' },
  goingAway: { code: closeCodes.goingAway, message: 'Server is restarting' },
} as const satisfies Record<keyof typeof closeCodes, { code: number; message: string }>
export type Closure = (typeof closures)[keyof typeof closures]
