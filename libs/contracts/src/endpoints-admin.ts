import * as admin from './admin.ts'
import type { Endpoint } from './endpoint.ts'
import * as invites from './invites.ts'
import { idParams } from './text.ts'
import { successReply, userReply } from './users.ts'

const invite = { service: 'invite', access: 'admin' } as const
const identity = { service: 'identity', access: 'admin' } as const

/** Contract: 4. */
export const inviteEndpoints = {
  createInvite: {
    ...invite,
    method: 'POST',
    path: '/api/admin/invites',
    summary: 'Create an invite link',
    body: invites.createInviteBody,
    replies: { 201: invites.inviteReply },
  },
  listInvites: {
    ...invite,
    method: 'GET',
    path: '/api/admin/invites',
    summary: 'Invite links, newest first',
    query: invites.listInvitesQuery,
    replies: { 200: invites.invitesReply },
  },
  patchInvite: {
    ...invite,
    method: 'PATCH',
    path: '/api/admin/invites/:id',
    summary: 'Change an invite link',
    params: idParams,
    body: invites.patchInviteBody,
    replies: { 200: invites.inviteReply },
  },
  revokeInvite: {
    ...invite,
    method: 'POST',
    path: '/api/admin/invites/:id/revoke',
    summary: 'Revoke an invite link',
    params: idParams,
    replies: { 200: invites.oneInviteReply },
  },
  reinstateInvite: {
    ...invite,
    method: 'POST',
    path: '/api/admin/invites/:id/reinstate',
    summary: 'Make an ended invite link usable again',
    params: idParams,
    body: invites.reinstateInviteBody,
    replies: { 200: invites.reinstateReply },
  },
  deleteInvite: {
    ...invite,
    method: 'DELETE',
    path: '/api/admin/invites/:id',
    summary: 'Delete an invite link and its redemptions',
    params: idParams,
    replies: { 200: successReply },
  },
  listRedemptions: {
    ...invite,
    method: 'GET',
    path: '/api/admin/invites/:id/redemptions',
    summary: 'Who came by an invite link, newest first',
    params: idParams,
    query: invites.pageQuery,
    replies: { 200: invites.redemptionsReply },
  },
} as const satisfies Record<string, Endpoint>

/** Contract: 5. */
export const adminEndpoints = {
  listUsers: {
    ...identity,
    method: 'GET',
    path: '/api/admin/users',
    summary: 'Search the accounts',
    query: admin.listUsersQuery,
    replies: { 200: admin.listUsersReply },
  },
  setRole: {
    ...identity,
    method: 'PATCH',
    path: '/api/admin/users/:id/role',
    summary: 'Make an account an admin, or no longer one',
    params: idParams,
    body: admin.roleBody,
    replies: { 200: userReply },
  },
  resetPassword: {
    ...identity,
    method: 'POST',
    path: '/api/admin/users/:id/reset-password',
    summary: 'Give an account a temporary password and end its sessions',
    params: idParams,
    replies: { 200: admin.resetPasswordReply },
  },
  deleteUser: {
    ...identity,
    method: 'DELETE',
    path: '/api/admin/users/:id',
    summary: 'Delete an account for good',
    params: idParams,
    replies: { 200: successReply },
  },
  getSettings: {
    ...identity,
    method: 'GET',
    path: '/api/admin/settings',
    summary: 'The instance settings',
    replies: { 200: admin.settingsReply },
  },
  patchSettings: {
    ...identity,
    method: 'PATCH',
    path: '/api/admin/settings',
    summary: 'Change the instance settings',
    body: admin.settingsBody,
    replies: { 200: admin.settingsReply },
  },
  listAudit: {
    ...identity,
    method: 'GET',
    path: '/api/admin/audit',
    summary: 'What admins did, newest first',
    query: invites.pageQuery,
    replies: { 200: admin.auditReply },
  },
} as const satisfies Record<string, Endpoint>
