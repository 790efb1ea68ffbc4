import type { ClientEndpointName, EndpointBody, EndpointInput, EndpointReply } from '@gatehouse/contracts'

// The build writes these types out: the package needs no schema library.

export type { AdminChangedMessage, AvatarColor, DeletionMode, InviteStatus } from '@gatehouse/contracts'
export type { PresenceMessage, ReadyMessage, SecurityNoticeMessage } from '@gatehouse/contracts'

/** The archive of an export is read as it comes. */
type ReplyOf<N extends ClientEndpointName> = N extends 'exportData' ? Response : EndpointReply<N>
export type Endpoints = { [N in ClientEndpointName]: { input: EndpointInput<N>; reply: ReplyOf<N> } }

/** Times in ms. */
export type User = EndpointReply<'getSelf'>
export type Status = User['status']
/** Of one's own account. */
export type OwnEmail = NonNullable<User['email']>
export type ReplicatedInstance = User['replicatedInstances'][number]

export type Credentials = EndpointBody<'login'>
export type SignedIn = EndpointReply<'login'>
export type Registration = EndpointBody<'register'>
/** In place of a session: an admin decides first. The receipt tells what becomes of it, and is shown once. */
export type PendingRegistration = Extract<EndpointReply<'register'>, { pending: true }>
/** What `@gatehouse/client/proof` solves. */
export type ProofChallenge = EndpointReply<'proofChallenge'>
export type Availability = EndpointReply<'checkUsername'>
export type InviteCheck = EndpointReply<'checkInvite'>
/** Federated users may leave out `currentPassword`. */
export type PasswordUpdate = EndpointBody<'changePassword'>
/** What shows that it is the person: the password, or a `ticket` of a sign-in at a linked provider. Federated users may leave out both. */
export type OwnConfirmation = EndpointBody<'endSessions'>
export type Deletion = EndpointBody<'deleteSelf'>
/** Federated users may leave out `password`. */
export type DataExport = EndpointBody<'exportData'>
/** `incomplete`: a node did not answer in time. */
export type OpenSockets = EndpointReply<'listSockets'>
export type SignIns = EndpointReply<'listSignIns'>['signIns']
export type ProfileChange = EndpointBody<'patchSelf'>
export type Upload = EndpointReply<'upload'>
export type ProviderList = EndpointReply<'listProviders'>
export type LinkedIdentity = EndpointReply<'listLinkedIdentities'>['identities'][number]
export type InstanceInfo = EndpointReply<'instanceInfo'>

export type IdentityDeletionRequest = EndpointBody<'deleteFederationIdentity'>
/** By origin. */
export type IdentityDeletions = EndpointReply<'deleteFederationIdentity'>['results']
export type IdentityDeletion = IdentityDeletions[string]
export type FederationCredential = EndpointReply<'federationCredential'>
/** A later `updatedAt` replaces the whole list. */
export type Registry = EndpointReply<'getRegistry'>
export type OwnedSpace = NonNullable<Extract<IdentityDeletion, { success: false }>['ownedSpaces']>[number]

/** Times in ms. */
export type Invite = EndpointReply<'createInvite'>
export type InviteRedemption = EndpointReply<'listRedemptions'>['redemptions'][number]

/** `registrationOpen` null: the server's environment decides. */
export type InstanceSettings = EndpointReply<'getSettings'>
export type RecoveryLink = EndpointReply<'createRecoveryLink'>
export type UserDescription = EndpointReply<'describeUser'>
export type Overview = EndpointReply<'overview'>
export type AuditEntry = EndpointReply<'listAudit'>['entries'][number]

export type Peer = EndpointReply<'initiatePeer'>['peer']
export type ApprovalRequest = EndpointReply<'listApprovalRequests'>['requests'][number]

/** An application that logs its users in with this instance. `id`: its client_id. Times in ms. */
export type Application = EndpointReply<'listApplications'>['applications'][number]
/** How telling it of ended sessions goes. */
export type ReceiverState = NonNullable<Application['receiver']['signals']>
/** That the person allowed. */
export type ConnectedApplication = EndpointReply<'listConnectedApplications'>['applications'][number]
/** What it asks for, in this browser. */
export type Interaction = EndpointReply<'readInteraction'>
export type WaitingDevice = EndpointReply<'readDeviceCode'>
