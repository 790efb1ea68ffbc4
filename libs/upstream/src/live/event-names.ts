/** The events that Gatehouse keeps in the stream `gatehouse-events`, then those in `gatehouse-changes`: docs/reference/events.md. */
const tokenEvents = [
  'PasswordChanged',
  'PasswordReset',
  'SessionsEnded',
  'UserSuspended',
  'UserDeleted',
  'RoleChanged',
  'SecondFactorChanged',
] as const

export const eventNames = [
  ...tokenEvents,
  'UserCreated',
  'UserUnsuspended',
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

export function streamOf(name: EventName): 'events' | 'changes' {
  return (tokenEvents as readonly string[]).includes(name) ? 'events' : 'changes'
}
