/** Text of each error after which the socket stays open. Those that end it are `closures`. Contract: 6. */
export const socketErrors = {
  rate_limited: 'Rate limited',
  invalid_json: 'Invalid JSON',
  unknown_message_type: 'Unknown message type',
  admin_required: 'Admin access required',
  second_factor_setup_required: 'This instance demands a second factor of its admins: set one up first',
  unknown_topic: 'Unknown topic',
  token_revoked: 'Token has been revoked',
  service_unavailable: 'Service unavailable',
  too_many_messages: 'Too many messages',
  nested_too_deeply: 'Nested too deeply',
  /** The upstream's own text takes its place. */
  message_refused: 'Message refused',
} as const
export type SocketErrorCode = keyof typeof socketErrors
