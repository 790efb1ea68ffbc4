import { z } from 'zod'
import { defineBroadcast, defineEvent } from './define.ts'
import { openSocket } from './sockets.ts'
import { snowflake, timestampMs } from './text.ts'
import { accountState, publicProfile, userStatus } from './users.ts'

// Subjects get the prefix `gatehouse.`. All but broadcasts go through the outbox. See docs/reference/events.md.

type Subject = `event.${string}`

const event = <N extends string, Shape extends z.ZodRawShape>(name: N, subject: Subject, shape: Shape) =>
  defineEvent({ name, subject, payload: z.object(shape) })

/** Of the stream for what decides over tokens. */
const tokenEvent = <N extends string, Shape extends z.ZodRawShape>(name: N, subject: Subject, shape: Shape) =>
  defineEvent({ name, subject, stream: 'events', payload: z.object(shape) })

const broadcast = <N extends string, Shape extends z.ZodRawShape>(name: N, subject: Subject, shape: Shape) =>
  defineBroadcast({ name, subject, payload: z.object(shape) })

const actor = z.object({ userId: snowflake.nullable(), username: z.string() }).nullable()
const ofAccount = { userId: snowflake, at: timestampMs, state: accountState }
const byActor = { ...ofAccount, actor }

/** `stub_upgrade`: a stub became an account and keeps its ID. Spec: Registration 9, 10. */
export const userCreated = event('UserCreated', 'event.user.created.v1', {
  ...ofAccount,
  origin: z.enum(['local', 'federated', 'stub_upgrade']),
})

/** Sockets with an older token close. Spec: change-password 4; Contract: 6, auth once more. */
export const passwordChanged = tokenEvent('PasswordChanged', 'event.user.password-changed.v1', {
  ...ofAccount,
  /** The `iat` of the session that changed it. 0.3.0 does not say it. */
  tokenIssuedAt: z.number().int().optional(),
})

/** All sockets close. Spec: Admin reset 2, 3. */
export const passwordReset = tokenEvent('PasswordReset', 'event.user.password-reset.v1', byActor)

/** All sockets close. Contract: 3, sessions/end. */
export const sessionsEnded = tokenEvent('SessionsEnded', 'event.user.sessions-ended.v1', byActor)

/** All sockets close. Contract: 5, suspend. */
export const userSuspended = tokenEvent('UserSuspended', 'event.user.suspended.v1', {
  ...byActor,
  reason: z.string().nullable(),
})

/** Tokens stay revoked. Contract: 5, suspend. */
export const userUnsuspended = event('UserUnsuspended', 'event.user.unsuspended.v1', byActor)

/** Keeps the message under the limit of NATS. */
export const audiencePerEvent = 20_000

/** All sockets close. Spec: DELETE self 4. */
export const userDeleted = tokenEvent('UserDeleted', 'event.user.deleted.v1', {
  ...byActor,
  /** `soft` keeps the message history. Spec: Tombstone. */
  mode: z.enum(['full', 'soft']),
  /** DeletedPresence names the rest. */
  audience: z.array(snowflake),
})

/** A further part of a deleted account's audience. Contract: 6, presence_update. */
export const deletedPresence = event('DeletedPresence', 'event.user.deleted-presence.v1', {
  userId: snowflake,
  at: timestampMs,
  audience: z.array(snowflake),
})

/** A lost role ends what an admin's sockets get. Contract: 5, role. */
export const roleChanged = tokenEvent('RoleChanged', 'event.user.role-changed.v1', { ...byActor, isAdmin: z.boolean() })

/** `due`, `optional`: an admin must set one up before acting as one, or no longer. Contract: 3, Second factor. */
export const secondFactorChanged = tokenEvent('SecondFactorChanged', 'event.user.second-factor-changed.v1', {
  ...byActor,
  change: z.enum(['on', 'off', 'due', 'optional']),
})

/** Too many wrong codes were entered. Contract: 3, Second factor. */
export const secondFactorBlocked = event('SecondFactorBlocked', 'event.user.second-factor-blocked.v1', {
  userId: snowflake,
  at: timestampMs,
  until: timestampMs,
})

const ofPasskey = { userId: snowflake, at: timestampMs, passkeyId: snowflake, name: z.string() }
/** The sockets of the account get a notice. Contract: 3, Passkeys. */
export const passkeyAdded = event('PasskeyAdded', 'event.user.passkey-added.v1', ofPasskey)
/** By its person. A reset and a deletion, which remove all, say so themselves. Contract: 3, Passkeys. */
export const passkeyRemoved = event('PasskeyRemoved', 'event.user.passkey-removed.v1', ofPasskey)

/** By its person. A reset and a deletion, which remove all, say so themselves. Contract: 3, Identity providers. */
export const identityChanged = event('IdentityChanged', 'event.user.identity-changed.v1', {
  userId: snowflake,
  at: timestampMs,
  provider: z.string(),
  change: z.enum(['linked', 'unlinked']),
})

/** `profile` is all that everybody sees, since earlier events may be gone. Contract: 3, PATCH. */
export const profileChanged = defineEvent({
  name: 'ProfileChanged',
  subject: 'event.user.profile-changed.v1',
  lastOf: 'userId',
  payload: z.object({
    ...ofAccount,
    profileUpdatedAt: timestampMs,
    changed: z.array(z.string()),
    profile: publicProfile.optional(),
  }),
})

/** Statuses were changed by the session gateway `by`. The others read which. Contract: 6, presence_update. */
export const presenceRecorded = broadcast('PresenceRecorded', 'event.user.presence-recorded.v1', { by: z.string() })

/** What a peer reports is never stored. Contract: 6, status. */
export const remotePresenceReported = broadcast('RemotePresenceReported', 'event.user.remote-presence-reported.v1', {
  userId: snowflake,
  status: userStatus,
  until: timestampMs,
})

/** Each other session gateway answers with its sockets of the account. Contract: 3, sockets. */
export const socketsAsked = broadcast('SocketsAsked', 'event.user.sockets-asked.v1', {
  userId: snowflake,
  questionId: z.string(),
  askedBy: z.string(),
})
export const socketsTold = broadcast('SocketsTold', 'event.user.sockets-told.v1', {
  questionId: z.string(),
  nodeId: z.string(),
  sockets: z.array(openSocket),
})

const ofInvite = { inviteId: snowflake, name: z.string(), at: timestampMs }
/** An invite's events never have its token, which lets anyone register. Spec: Invite status; Contract: 4, invites. */
export const inviteCreated = event('InviteCreated', 'event.invite.created.v1', { ...ofInvite, actor })
/** Identity publishes it: the transaction is its own. Spec: Registration 11. */
export const inviteRedeemed = event('InviteRedeemed', 'event.invite.redeemed.v1', {
  ...ofInvite,
  userId: snowflake,
  usedCount: z.number().int(),
})
/** A PATCH without a field publishes none. Contract: 4, PATCH. */
export const inviteChanged = event('InviteChanged', 'event.invite.changed.v1', { ...ofInvite, actor })
export const inviteRevoked = event('InviteRevoked', 'event.invite.revoked.v1', { ...ofInvite, actor })
export const inviteReinstated = event('InviteReinstated', 'event.invite.reinstated.v1', {
  ...ofInvite,
  actor,
  tokenRotated: z.boolean(),
})
export const inviteDeleted = event('InviteDeleted', 'event.invite.deleted.v1', { ...ofInvite, actor })

/** For watching admins alone. It has no name: of a denied one nothing is kept. Contract: 3, Approval. */
export const registrationChanged = event('RegistrationChanged', 'event.registration.changed.v1', {
  registrationId: snowflake,
  at: timestampMs,
  actor,
  change: z.enum(['requested', 'approved', 'denied', 'restored']),
})

/** Names the settings whose value changed. Contract: 5, settings. */
export const settingsChanged = event('SettingsChanged', 'event.instance.settings-changed.v1', {
  at: timestampMs,
  actor,
  changed: z.array(z.string()),
})

/** The admin pages of all replicas follow it. Contract: 7, states of a peer. */
export const peerChanged = event('PeerChanged', 'event.instance.peer-changed.v1', {
  at: timestampMs,
  actor,
  origin: z.string(),
  status: z.string(),
})

/** Each carries the new state, which gateways write to the cache. Design: invariant 1. */
export const accountEvents = [
  userCreated,
  passwordChanged,
  passwordReset,
  sessionsEnded,
  userSuspended,
  userUnsuspended,
  userDeleted,
  roleChanged,
  secondFactorChanged,
  profileChanged,
] as const

/** Sockets close after them. Contract: 6, forced disconnect. */
export const sessionEndingEvents = [passwordChanged, passwordReset, sessionsEnded, userSuspended, userDeleted] as const

export const inviteEvents = [
  inviteCreated,
  inviteRedeemed,
  inviteChanged,
  inviteRevoked,
  inviteReinstated,
  inviteDeleted,
] as const

export const durableEvents = [...accountEvents, ...inviteEvents, settingsChanged, peerChanged] as const
