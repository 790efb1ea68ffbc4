/** The events that Gatehouse keeps: docs/events.md. */
export const eventNames = [
  'UserCreated',
  'PasswordChanged',
  'PasswordReset',
  'SessionsEnded',
  'UserDeleted',
  'RoleChanged',
  'ProfileChanged',
  'DeletedPresence',
  'InviteCreated',
  'InviteRedeemed',
  'InviteChanged',
  'InviteRevoked',
  'InviteReinstated',
  'InviteDeleted',
  'SettingsChanged',
  'PeerChanged',
] as const

export type EventName = (typeof eventNames)[number]
