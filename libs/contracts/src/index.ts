export { accountState } from './accounts.ts'
export type { AccountState } from './accounts.ts'
export {
  auditEntryReply,
  auditReply,
  listUsersQuery,
  listUsersReply,
  resetPasswordReply,
  roleBody,
  settingsBody,
  settingsReply,
  userInstancesReply,
} from './admin.ts'
export {
  accountStatesQuery,
  applyRemoteProfiles,
  checkHomeEpoch,
  deleteFederatedIdentity,
  detachHome,
  forgetReplicatedInstances,
  lookUpByHomeId,
  resolveReplicatedUser,
  verifyAttachProof,
} from './calls.ts'
export type { RemoteProfile } from './calls.ts'
export {
  avatarColors,
  baseUsername,
  closeCodes,
  closures,
  countCodePoints,
  fitsHash,
  isFederatedUsername,
  isHost,
  isLocalUsername,
  isStorableText,
  limits,
  normalizeHost,
  normalizeOrigin,
  normalizeUsername,
  parseFederatedUsername,
  rateLimits,
  upstreamLimits,
} from './constants/index.ts'
export type { AvatarColor, Closure, RateLimit } from './constants/index.ts'
export { defineCall, defineEvent } from './define.ts'
export type { CallDefinition, EventDefinition } from './define.ts'
export { endpoints } from './endpoints/endpoints.ts'
export type {
  Endpoint,
  EndpointBody,
  EndpointInput,
  EndpointQuery,
  EndpointReply,
  EndpointSchemas,
} from './endpoints/endpoints.ts'
export { clientRows, endpointTable, gatewayPaths, peerRows } from './endpoints/table.ts'
export type { Access, ClientEndpointName, EndpointName, EndpointRow, ServiceName } from './endpoints/table.ts'
export {
  accountEvents,
  audiencePerEvent,
  deletedPresence,
  durableEvents,
  inviteChanged,
  inviteCreated,
  inviteDeleted,
  inviteEvents,
  inviteRedeemed,
  inviteReinstated,
  inviteRevoked,
  passwordChanged,
  passwordReset,
  peerChanged,
  presenceChanged,
  presenceMissed,
  profileChanged,
  remotePresenceReported,
  roleChanged,
  sessionEndingEvents,
  sessionsEnded,
  socketsAsked,
  socketsTold,
  settingsChanged,
  userCreated,
  userDeleted,
} from './events.ts'
export {
  acceptPeerBody,
  acceptPeerPendingReply,
  acceptPeerReply,
  approvalRequestReply,
  approvalRequestsReply,
  deleteIdentityBody,
  deletionMode,
  deniedBody,
  deniedReply,
  ensurePeerBody,
  ensurePeerReply,
  epochReply,
  fanoutBody,
  fanoutMode,
  fanoutReply,
  fanoutResult,
  initiatePeerBody,
  initiatePeerReply,
  onePeerReply,
  patchPeerBody,
  peerReply,
  peersReply,
  peerStatus,
  resolveStubBody,
  resolveStubReply,
  rotateBody,
  rotateReply,
} from './federation.ts'
export type { DeletionMode, FanoutMode, FanoutResult, PeerReply } from './federation.ts'
export {
  attachProofReply,
  attachTokenBody,
  byHomeIdBody,
  byHomeIdReply,
  lookupBody,
  lookupReply,
  presenceUpdate,
  profileUpdate,
  relayBody,
  relayEvent,
  relayReply,
  relayVerdict,
  remoteUser,
  syncBody,
  syncReply,
} from './relay.ts'
export type { RelayEvent, RemoteUser } from './relay.ts'
export {
  createInviteBody,
  inviteReply,
  invitesReply,
  inviteStatus,
  listInvitesQuery,
  oneInviteReply,
  pageQuery,
  patchInviteBody,
  redemptionReply,
  redemptionsReply,
  reinstateInviteBody,
  reinstateReply,
} from './invites.ts'
export type { InviteReply, InviteStatus, RedemptionReply } from './invites.ts'
export { attachProofBody, putRegistryReply, reattachReply, registryBody, registryReply } from './identities.ts'
export { operatorEndpoints } from './operator.ts'
export { newPassword, passwordAttempt } from './passwords.ts'
export {
  adminChangedMessage,
  authMessage,
  openSocket,
  presenceMessage,
  readyMessage,
  socketsReply,
  unwatchMessage,
  watchMessage,
} from './sockets.ts'
export type { AdminChangedMessage, OpenSocket, PresenceMessage, ReadyMessage } from './sockets.ts'
export { idParams, optionalText, snowflake, text, timestampMs, trimmedText } from './text.ts'
export {
  changePasswordBody,
  checkInviteQuery,
  checkInviteReply,
  checkUsernameQuery,
  checkUsernameReply,
  credentialsReply,
  deleteSelfBody,
  endSessionsBody,
  exportBody,
  instanceInfoReply,
  loginBody,
  ownedSpaces,
  profileBody,
  registerBody,
  registeredIdentity,
  replicatedInstance,
  successReply,
  tokenReply,
  uploadParams,
  uploadReply,
  userParams,
  userReply,
  userStatus,
  verifyPasswordBody,
  verifyPasswordReply,
} from './users.ts'
export type { ProfileBody, UserReply } from './users.ts'
export {
  emptyReadyParts,
  upstream,
  upstreamDelivery,
  upstreamErrorMessage,
  upstreamEventNames,
  upstreamEvents,
  upstreamMessageReply,
  upstreamReadyReply,
  upstreamRoute,
  upstreamsFile,
  upstreamSubjects,
} from './upstreams.ts'
export type { Upstream, UpstreamCaller, UpstreamDelivery, UpstreamRoute } from './upstreams.ts'
