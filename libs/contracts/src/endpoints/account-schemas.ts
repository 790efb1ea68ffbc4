import { fanoutBody, fanoutReply } from '../federation.ts'
import * as identities from '../identities.ts'
import { attachTokenBody } from '../relay.ts'
import { socketsReply } from '../sockets.ts'
import * as users from '../users.ts'
import type { EndpointSchemas } from './endpoints.ts'
import type { EndpointName } from './table.ts'

/** Contract: 3. */
export const accountSchemas = {
  register: {
    summary: 'Register an account',
    body: users.registerBody,
    replies: { 200: users.credentialsReply, 201: users.credentialsReply },
  },
  checkUsername: {
    summary: 'Whether a username is free',
    query: users.checkUsernameQuery,
    replies: { 200: users.checkUsernameReply },
  },
  checkInvite: {
    summary: 'Whether an invite can still be used',
    query: users.checkInviteQuery,
    replies: { 200: users.checkInviteReply },
  },
  login: {
    summary: 'Log in with username and password',
    body: users.loginBody,
    replies: { 200: users.credentialsReply },
  },
  getSelf: { summary: 'The current user', replies: { 200: users.userReply } },
  patchSelf: { summary: 'Change the own profile', body: users.profileBody, replies: { 200: users.userReply } },
  deleteSelf: {
    summary: 'Delete the own account for good',
    body: users.deleteSelfBody,
    replies: { 200: users.successReply },
  },
  getUser: { summary: 'Another user', params: users.userParams, replies: { 200: users.userReply } },
  verifyPassword: {
    summary: 'Verify the own password',
    body: users.verifyPasswordBody,
    replies: { 200: users.verifyPasswordReply },
  },
  changePassword: {
    summary: 'Change the own password; every earlier token is revoked',
    body: users.changePasswordBody,
    replies: { 200: users.tokenReply },
  },
  endSessions: {
    summary: 'End all own sessions: every earlier token is revoked and every socket closes',
    body: users.endSessionsBody,
    replies: { 200: users.tokenReply },
  },
  listSockets: { summary: 'The own sockets that are open now', replies: { 200: socketsReply } },
  exportData: {
    summary: 'Everything of the own account, as a ZIP archive',
    body: users.exportBody,
    replies: { 200: 'archive' },
  },
  deleteFederationIdentity: {
    summary: 'Delete the own identity on other instances',
    body: fanoutBody,
    replies: { 200: fanoutReply },
  },
  getRegistry: {
    summary: 'The instances to which the own clients have connected',
    replies: { 200: identities.registryReply },
  },
  putRegistry: {
    summary: 'Replace the list of connected instances',
    body: identities.registryBody,
    replies: { 200: identities.putRegistryReply },
  },
  attachProof: {
    summary: 'A proof for another instance that the own account is the home of an account there',
    body: identities.attachProofBody,
    replies: { 200: users.tokenReply },
  },
  reattach: {
    summary: 'Bind the own detached account to its new home account',
    body: attachTokenBody,
    replies: { 200: identities.reattachReply },
  },
  upload: { summary: 'Upload an image for the own profile', body: 'multipart', replies: { 201: users.uploadReply } },
  getUpload: { summary: 'An uploaded image', params: users.uploadParams, replies: { 200: 'file', 206: 'file' } },
  instanceInfo: {
    summary: 'The name of this instance, and which registrations are open',
    replies: { 200: users.instanceInfoReply },
  },
} as const satisfies Partial<Record<EndpointName, EndpointSchemas>>
