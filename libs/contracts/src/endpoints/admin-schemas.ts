import * as admin from '../admin.ts'
import * as invites from '../invites.ts'
import { idParams } from '../text.ts'
import { successReply, userReply } from '../users.ts'
import type { EndpointSchemas } from './endpoints.ts'
import type { EndpointName } from './table.ts'

/** Contract: 4. */
export const inviteSchemas = {
  createInvite: {
    summary: 'Create an invite link',
    body: invites.createInviteBody,
    replies: { 201: invites.inviteReply },
  },
  listInvites: {
    summary: 'Invite links, newest first',
    query: invites.listInvitesQuery,
    replies: { 200: invites.invitesReply },
  },
  patchInvite: {
    summary: 'Change an invite link',
    params: idParams,
    body: invites.patchInviteBody,
    replies: { 200: invites.inviteReply },
  },
  revokeInvite: { summary: 'Revoke an invite link', params: idParams, replies: { 200: invites.oneInviteReply } },
  reinstateInvite: {
    summary: 'Make an ended invite link usable again',
    params: idParams,
    body: invites.reinstateInviteBody,
    replies: { 200: invites.reinstateReply },
  },
  deleteInvite: {
    summary: 'Delete an invite link and its redemptions',
    params: idParams,
    replies: { 200: successReply },
  },
  listRedemptions: {
    summary: 'The registrations that used an invite link, newest first',
    params: idParams,
    query: invites.pageQuery,
    replies: { 200: invites.redemptionsReply },
  },
} as const satisfies Partial<Record<EndpointName, EndpointSchemas>>

/** Contract: 5. */
export const adminSchemas = {
  listUsers: { summary: 'Search the accounts', query: admin.listUsersQuery, replies: { 200: admin.listUsersReply } },
  listUserInstances: { summary: 'The home instances that users have', replies: { 200: admin.userInstancesReply } },
  setRole: {
    summary: 'Give an account the role of an admin, or take it away',
    params: idParams,
    body: admin.roleBody,
    replies: { 200: userReply },
  },
  resetPassword: {
    summary: 'Give an account a temporary password and end its sessions',
    params: idParams,
    replies: { 200: admin.resetPasswordReply },
  },
  deleteUser: { summary: 'Delete an account for good', params: idParams, replies: { 200: successReply } },
  getSettings: { summary: 'The instance settings', replies: { 200: admin.settingsReply } },
  patchSettings: {
    summary: 'Change the instance settings',
    body: admin.settingsBody,
    replies: { 200: admin.settingsReply },
  },
  listAudit: { summary: 'The audit log, newest first', query: invites.pageQuery, replies: { 200: admin.auditReply } },
} as const satisfies Partial<Record<EndpointName, EndpointSchemas>>
