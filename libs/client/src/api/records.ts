import type { EndpointBody, EndpointQuery, EndpointReply, FanoutResult, UserReply } from '@gatehouse/contracts'

// The shapes of the contract under the names that a client uses; the contract's schemas are their only definition. The
// other files take them from here: the build writes them out in this file, so that the package needs no schema library.

export type {
  AdminChangedMessage,
  AvatarColor,
  DeletionMode,
  InviteStatus,
  PresenceMessage,
  ReadyMessage,
} from '@gatehouse/contracts'

/** A user as every endpoint gives it; times in ms. */
export type User = UserReply
export type Status = User['status']
/** An account of the same user on another instance. */
export type ReplicatedInstance = User['replicatedInstances'][number]

export type Credentials = EndpointBody<'login'>
export type SignedIn = EndpointReply<'login'>
export type Registration = EndpointBody<'register'>
export type Availability = EndpointReply<'checkUsername'>
export type InviteCheck = EndpointReply<'checkInvite'>
/** `currentPassword` may be left out by federated users. */
export type PasswordUpdate = EndpointBody<'changePassword'>
/** `password` may be left out by federated users. */
export type SessionsEnd = EndpointBody<'endSessions'>
/** `password` may be left out by federated users. */
export type DataExport = EndpointBody<'exportData'>
/** The sockets of the own account that are open now; `incomplete` when a node has not told its own in time. */
export type OpenSockets = EndpointReply<'listSockets'>
/** `avatar` and `banner` are filenames of the user's own uploads. */
export type ProfileChange = EndpointBody<'patchSelf'>
export type Upload = EndpointReply<'upload'>
export type InstanceInfo = EndpointReply<'instanceInfo'>

export type IdentityDeletionRequest = EndpointBody<'deleteFederationIdentity'>
export type IdentityDeletion = FanoutResult
/** The result of an identity deletion for each origin. */
export type IdentityDeletions = EndpointReply<'deleteFederationIdentity'>['results']
/** The connections of the user's clients; a later `updatedAt` replaces the whole list. */
export type Registry = EndpointReply<'getRegistry'>
export type Reattachment = EndpointBody<'reattach'>
export type OwnedSpace = NonNullable<Extract<IdentityDeletion, { success: false }>['ownedSpaces']>[number]

/** A page of a list: `cursor` is the `nextCursor` of the page before, which is null at the end. */
export type PageQuery = EndpointQuery<'listAudit'>

/** An invite link; times in ms, `url` ready to be copied. */
export type Invite = EndpointReply<'createInvite'>
export type NewInvite = Required<EndpointBody<'createInvite'>>
export type InviteQuery = EndpointQuery<'listInvites'>
export type InvitePage = EndpointReply<'listInvites'>
export type InviteChange = EndpointBody<'patchInvite'>
export type InviteLimits = EndpointBody<'reinstateInvite'>
export type RedemptionPage = EndpointReply<'listRedemptions'>
export type InviteRedemption = RedemptionPage['redemptions'][number]

export type UserQuery = EndpointQuery<'listUsers'>
export type UserPage = EndpointReply<'listUsers'>
/** `registrationOpen` null leaves the decision to the server's environment. */
export type InstanceSettings = EndpointReply<'getSettings'>
export type SettingsChange = EndpointBody<'patchSettings'>
export type AuditPage = EndpointReply<'listAudit'>
export type AuditEntry = AuditPage['entries'][number]

export type Peer = EndpointReply<'initiatePeer'>['peer']
export type ApprovalRequest = EndpointReply<'listApprovalRequests'>['requests'][number]
