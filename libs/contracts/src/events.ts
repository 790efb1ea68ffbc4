import { z } from 'zod'
import { accountState } from './accounts.ts'
import { defineEvent } from './define.ts'
import { openSocket } from './sockets.ts'
import { snowflake, timestampMs } from './text.ts'
import { userStatus } from './users.ts'

// Every event of the four services; docs/events.md says the same for people. Over NATS a subject gets the prefix
// `gatehouse.`. All but PresenceChanged go through the outbox of the transaction that they report.

/** Who acted: an admin, or the operator, who has no id; null where the account itself or the instance did. */
const actor = z.object({ userId: snowflake.nullable(), username: z.string() }).nullable()

/** What every event of an account tells: whose, when, and what decides over its tokens from then on. */
const ofAccount = { userId: snowflake, at: timestampMs, state: accountState }

/** An account was made: by registration, or by taking over a stub. Spec: Registration 9, 10. */
export const userCreated = defineEvent({
  name: 'UserCreated',
  subject: 'event.user.created.v1',
  payload: z.object({ ...ofAccount, origin: z.enum(['local', 'federated', 'stub_upgrade']) }),
})

/** A user changed the own password; every earlier token is revoked, sockets stay open. Spec: change-password 4. */
export const passwordChanged = defineEvent({
  name: 'PasswordChanged',
  subject: 'event.user.password-changed.v1',
  payload: z.object(ofAccount),
})

/** An admin reset a password; every earlier token is revoked and all sockets close. Spec: Admin reset 2, 3. */
export const passwordReset = defineEvent({
  name: 'PasswordReset',
  subject: 'event.user.password-reset.v1',
  payload: z.object({ ...ofAccount, actor }),
})

/** A user ended all own sessions; every earlier token is revoked and all sockets close. Contract: 3, sessions/end. */
export const sessionsEnded = defineEvent({
  name: 'SessionsEnded',
  subject: 'event.user.sessions-ended.v1',
  payload: z.object({ ...ofAccount, actor }),
})

/** User ids in one event: its message stays under the limit of NATS. */
export const audiencePerEvent = 20_000

/** An account was tombstoned; all sockets close, and voice services take it out of their rooms. Spec: DELETE self 4. */
export const userDeleted = defineEvent({
  name: 'UserDeleted',
  subject: 'event.user.deleted.v1',
  payload: z.object({
    ...ofAccount,
    actor,
    /** `soft` keeps the message history. Spec: Tombstone. */
    mode: z.enum(['full', 'soft']),
    /** Who was to see its presence while its memberships still stood; the rest of many is in DeletedPresence. */
    audience: z.array(snowflake),
  }),
})

/** Further users who were to see the presence of a tombstoned account, beyond those that UserDeleted names. Contract: 6. */
export const deletedPresence = defineEvent({
  name: 'DeletedPresence',
  subject: 'event.user.deleted-presence.v1',
  payload: z.object({ userId: snowflake, at: timestampMs, audience: z.array(snowflake) }),
})

/** An admin made an account an admin, or no longer one. Contract: 5. */
export const roleChanged = defineEvent({
  name: 'RoleChanged',
  subject: 'event.user.role-changed.v1',
  payload: z.object({ ...ofAccount, actor, isAdmin: z.boolean() }),
})

/** A profile changed. Contract: 3, PATCH. */
export const profileChanged = defineEvent({
  name: 'ProfileChanged',
  subject: 'event.user.profile-changed.v1',
  payload: z.object({ ...ofAccount, profileUpdatedAt: timestampMs, changed: z.array(z.string()) }),
})

/**
 * A user came online or went offline. `version` rises with every change of the same user. `audience` are the present
 * users who are to see it, on all nodes; without it, every session gateway looks up those of its own. Broadcast: it may
 * be lost. Contract: 6, presence_update.
 */
export const presenceChanged = defineEvent({
  name: 'PresenceChanged',
  subject: 'event.user.presence-changed.v1',
  payload: z.object({
    userId: snowflake,
    status: userStatus,
    version: z.number().int(),
    audience: z.array(snowflake).optional(),
  }),
})

/**
 * Asks every session gateway to repeat to `askedBy` the changes of presence that it has published: broadcasts to that one may
 * have been lost. Broadcast: it may be lost. Contract: 6, presence_update.
 */
export const presenceMissed = defineEvent({
  name: 'PresenceMissed',
  subject: 'event.user.presence-missed.v1',
  payload: z.object({ askedBy: z.string() }),
})

/** What a peer reports of its user, for the replica here. Broadcast: it may be lost. Contract: 6. */
export const remotePresenceReported = defineEvent({
  name: 'RemotePresenceReported',
  subject: 'event.user.remote-presence-reported.v1',
  payload: z.object({ userId: snowflake, status: z.enum(['online', 'offline']), until: timestampMs }),
})

/**
 * Asks every session gateway for the sockets of an account; the answers are addressed to `askedBy`. Broadcast: it may be
 * lost. Contract: 3, sockets.
 */
export const socketsAsked = defineEvent({
  name: 'SocketsAsked',
  subject: 'event.user.sockets-asked.v1',
  payload: z.object({ userId: snowflake, questionId: z.string(), askedBy: z.string() }),
})

/** The sockets of an account on one session gateway, by the id of its node. Broadcast to the one that asked. */
export const socketsTold = defineEvent({
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

/** A registration used an invite. Published by identity, whose transaction it is. Spec: Registration 11. */
export const inviteRedeemed = defineEvent({
  name: 'InviteRedeemed',
  subject: 'event.invite.redeemed.v1',
  payload: z.object({ ...ofInvite, userId: snowflake, usedCount: z.number().int() }),
})

/** Limits or name of an invite changed. Contract: 4, PATCH. */
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

/** An admin changed the instance settings; `changed` names the fields. Contract: 5. */
export const settingsChanged = defineEvent({
  name: 'SettingsChanged',
  subject: 'event.instance.settings-changed.v1',
  payload: z.object({ at: timestampMs, actor, changed: z.array(z.string()) }),
})

/** A peer or a peering request was made, or changed its state. Contract: 7. */
export const peerChanged = defineEvent({
  name: 'PeerChanged',
  subject: 'event.instance.peer-changed.v1',
  payload: z.object({ at: timestampMs, actor, origin: z.string(), status: z.string() }),
})

/** Events that carry an account's state: they feed the cache of account states. Design: invariant 1. */
export const accountEvents = [
  userCreated,
  passwordChanged,
  passwordReset,
  sessionsEnded,
  userDeleted,
  roleChanged,
  profileChanged,
] as const

/** Events after which the sockets of an account close on every node. Contract: 6, forced disconnect. */
export const sessionEndingEvents = [passwordReset, sessionsEnded, userDeleted] as const

export const inviteEvents = [
  inviteCreated,
  inviteRedeemed,
  inviteChanged,
  inviteRevoked,
  inviteReinstated,
  inviteDeleted,
] as const

/** What the outbox may hold. */
export const durableEvents = [...accountEvents, ...inviteEvents, settingsChanged, peerChanged] as const
