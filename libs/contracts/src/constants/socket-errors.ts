import * as closeCodes from './close-codes.ts'

/** Text of each error after which the socket stays open. Those that end it are `closures`. Contract: 6, messages. */
export const socketErrors = {
  rate_limited: 'Rate limited',
  invalid_json: 'Invalid JSON',
  unknown_message_type: 'Unknown message type',
  admin_required: 'Admin access required',
  second_factor_setup_required: 'This instance requires two-factor authentication for admins: set it up first',
  unknown_topic: 'Unknown topic',
  token_revoked: 'Token has been revoked',
  service_unavailable: 'Service unavailable',
  too_many_messages: 'Too many messages',
  nested_too_deeply: 'Nested too deeply',
  /** The upstream's own text takes its place. */
  message_refused: 'Message refused',
} as const
export type SocketErrorCode = keyof typeof socketErrors

const closing = <Code extends string>(code: number, message: string, error: Code) => ({ code, message, error })

/** Code and reason of a close. Before `ready` an error of this text and code goes first. Contract: 6, failure before ready. */
export const closures = {
  authenticationTimeout: closing(closeCodes.authenticationTimeout, 'Authentication timeout', 'authentication_timeout'),
  firstMessageNotAuth: closing(closeCodes.firstMessageNotAuth, 'First message must be auth', 'first_message_not_auth'),
  invalidToken: closing(closeCodes.invalidToken, 'Invalid token', 'invalid_token'),
  tokenRevoked: closing(closeCodes.tokenRevoked, 'Token has been revoked', 'token_revoked'),
  accountDeletedAtHandshake: closing(
    closeCodes.accountDeletedAtHandshake,
    'This account has been deleted',
    'account_deleted',
  ),
  tooManyConnections: closing(closeCodes.tooManyConnections, 'Too many connections', 'too_many_connections'),
  passwordReset: closing(closeCodes.passwordReset, 'Password reset', 'password_reset'),
  accountDeleted: closing(closeCodes.accountDeleted, 'Account deleted', 'account_deleted'),
  accountSuspended: closing(closeCodes.accountSuspended, 'Account suspended', 'account_suspended'),
  messageTooBig: closing(closeCodes.messageTooBig, 'Message too big', 'message_too_big'),
  unavailable: closing(closeCodes.unavailable, 'Service temporarily unavailable, please try again', 'unavailable'),
  goingAway: closing(closeCodes.goingAway, 'Server is restarting', 'going_away'),
} satisfies Record<keyof typeof closeCodes, object>
export type Closure = (typeof closures)[keyof typeof closures]
