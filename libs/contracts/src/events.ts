import { z } from 'zod'
import { defineBroadcast, defineEvent } from './define.ts'
import { openSocket } from './sockets.ts'
import { snowflake, timestampMs } from './text.ts'
import { accountState, publicProfile, userStatus } from './users.ts'

// Subjects get the prefix `gatehouse.`. All but broadcasts go through the outbox. See docs/events.md.

const actor = z.object({ userId: snowflake.nullable(), username: z.string() }).nullable()

const ofAccount = { userId: snowflake, at: timestampMs, state: accountState }

/** Spec: Registration 9, 10. */
export const userCreated = defineEvent({
  name: 'UserCreated',
  subject: 'event.user.created.v1',
  payload: z.object({ ...ofAccount, origin: z.enum(['local', 'federated', 'stub_upgrade']) }),
})

/** Sockets stay open. Spec: change-password 4. */
export const passwordChanged = defineEvent({
  name: 'PasswordChanged',
  subject: 'event.user.password-changed.v1',
  kept: 'events',
  payload: z.object(ofAccount),
})

/** All sockets close. Spec: Admin reset 2, 3. */
export const passwordReset = defineEvent({
  name: 'PasswordReset',
  subject: 'event.user.password-reset.v1',
  kept: 'events',
  payload: z.object({ ...ofAccount, actor }),
})

/** All sockets close. Contract: 3, sessions/end. */
export const sessionsEnded = defineEvent({
  name: 'SessionsEnded',
  subject: 'event.user.sessions-ended.v1',
  kept: 'events',
  payload: z.object({ ...ofAccount, actor }),
})

/** All sockets close. Contract: 5, suspend. */
export const userSuspended = defineEvent({
  name: 'UserSuspended',
  subject: 'event.user.suspended.v1',
  kept: 'events',
  payload: z.object({ ...ofAccount, actor, reason: z.string().nullable() }),
})

/** Tokens stay revoked. Contract: 5, suspend. */
export const userUnsuspended = defineEvent({
  name: 'UserUnsuspended',
  subject: 'event.user.unsuspended.v1',
  payload: z.object({ ...ofAccount, actor }),
})

/** Keeps the message under the limit of NATS. */
export const audiencePerEvent = 20_000

/** All sockets close. Spec: DELETE self 4. */
export const userDeleted = defineEvent({
  name: 'UserDeleted',
  subject: 'event.user.deleted.v1',
  kept: 'events',
  payload: z.object({
    ...ofAccount,
    actor,
    /** `soft` keeps the message history. Spec: Tombstone. */
    mode: z.enum(['full', 'soft']),
    /** DeletedPresence names the rest. */
    audience: z.array(snowflake),
  }),
})

/** Contract: 6. */
export const deletedPresence = defineEvent({
  name: 'DeletedPresence',
  subject: 'event.user.deleted-presence.v1',
  payload: z.object({ userId: snowflake, at: timestampMs, audience: z.array(snowflake) }),
})

/** Contract: 5. */
export const roleChanged = defineEvent({
  name: 'RoleChanged',
  subject: 'event.user.role-changed.v1',
  kept: 'events',
  payload: z.object({ ...ofAccount, actor, isAdmin: z.boolean() }),
})

/** `due`, `optional`: an admin must set one up before acting as one, or no longer. Contract: 3, Second factor. */
export const secondFactorChanged = defineEvent({
  name: 'SecondFactorChanged',
  subject: 'event.user.second-factor-changed.v1',
  kept: 'events',
  payload: z.object({ ...ofAccount, actor, change: z.enum(['on', 'off', 'due', 'optional']) }),
})

/** Contract: 3, Second factor. */
export const secondFactorBlocked = defineEvent({
  name: 'SecondFactorBlocked',
  subject: 'event.user.second-factor-blocked.v1',
  payload: z.object({ userId: snowflake, at: timestampMs, until: timestampMs }),
})

const ofPasskey = { userId: snowflake, at: timestampMs, passkeyId: snowflake, name: z.string() }

/** Contract: 3, Passkeys. */
export const passkeyAdded = defineEvent({
  name: 'PasskeyAdded',
  subject: 'event.user.passkey-added.v1',
  payload: z.object(ofPasskey),
})

/** By its person. A reset and a deletion, which remove all, say so themselves. Contract: 3, Passkeys. */
export const passkeyRemoved = defineEvent({
  name: 'PasskeyRemoved',
  subject: 'event.user.passkey-removed.v1',
  payload: z.object(ofPasskey),
})

/** `profile` is all that everybody sees, since earlier events may be gone. 0.2.0 does not say it. Contract: 3, PATCH. */
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
export const presenceRecorded = defineBroadcast({
  name: 'PresenceRecorded',
  subject: 'event.user.presence-recorded.v1',
  payload: z.object({ by: z.string() }),
})

/** For session gateways of 0.2.0. They publish it without `isRecorded`. */
export const presenceChanged = defineBroadcast({
  name: 'PresenceChanged',
  subject: 'event.user.presence-changed.v1',
  payload: z.object({
    userId: snowflake,
    status: userStatus,
    version: z.number().int(),
    isRecorded: z.literal(true).optional(),
  }),
})

/** Contract: 6. */
export const remotePresenceReported = defineBroadcast({
  name: 'RemotePresenceReported',
  subject: 'event.user.remote-presence-reported.v1',
  payload: z.object({ userId: snowflake, status: z.enum(['online', 'offline']), until: timestampMs }),
})

/** Contract: 3, sockets. */
export const socketsAsked = defineBroadcast({
  name: 'SocketsAsked',
  subject: 'event.user.sockets-asked.v1',
  payload: z.object({ userId: snowflake, questionId: z.string(), askedBy: z.string() }),
})

export const socketsTold = defineBroadcast({
  name: 'SocketsTold',
  subject: 'event.user.sockets-told.v1',
  payload: z.object({ questionId: z.string(), nodeId: z.string(), sockets: z.array(openSocket) }),
})

const ofInvite = { inviteId: snowflake, name: z.string(), at: timestampMs }

/** Spec: Invite status; Contract: 4. */
export const inviteCreated = defineEvent({
  name: 'InviteCreated',
  subject: 'event.invite.created.v1',
  payload: z.object({ ...ofInvite, actor }),
})

/** Identity publishes it: the transaction is its own. Spec: Registration 11. */
export const inviteRedeemed = defineEvent({
  name: 'InviteRedeemed',
  subject: 'event.invite.redeemed.v1',
  payload: z.object({ ...ofInvite, userId: snowflake, usedCount: z.number().int() }),
})

/** Contract: 4, PATCH. */
export const inviteChanged = defineEvent({
  name: 'InviteChanged',
  subject: 'event.invite.changed.v1',
  payload: z.object({ ...ofInvite, actor }),
})

export const inviteRevoked = defineEvent({
  name: 'InviteRevoked',
  subject: 'event.invite.revoked.v1',
  payload: z.object({ ...ofInvite, actor }),
})

export const inviteReinstated = defineEvent({
  name: 'InviteReinstated',
  subject: 'event.invite.reinstated.v1',
  payload: z.object({ ...ofInvite, actor, tokenRotated: z.boolean() }),
})

export const inviteDeleted = defineEvent({
  name: 'InviteDeleted',
  subject: 'event.invite.deleted.v1',
  payload: z.object({ ...ofInvite, actor }),
})

/** Contract: 5. */
export const settingsChanged = defineEvent({
  name: 'SettingsChanged',
  subject: 'event.instance.settings-changed.v1',
  payload: z.object({ at: timestampMs, actor, changed: z.array(z.string()) }),
})

/** Contract: 7. */
export const peerChanged = defineEvent({
  name: 'PeerChanged',
  subject: 'event.instance.peer-changed.v1',
  payload: z.object({ at: timestampMs, actor, origin: z.string(), status: z.string() }),
})

/** Design: invariant 1. */
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

/** Contract: 6, forced disconnect. */
export const sessionEndingEvents = [passwordReset, sessionsEnded, userSuspended, userDeleted] as const

export const inviteEvents = [
  inviteCreated,
  inviteRedeemed,
  inviteChanged,
  inviteRevoked,
  inviteReinstated,
  inviteDeleted,
] as const

export const durableEvents = [...accountEvents, ...inviteEvents, settingsChanged, peerChanged] as const
