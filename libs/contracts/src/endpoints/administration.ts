import * as admin from '../admin.ts'
import type { EndpointDeclaration } from '../define.ts'
import { pageQuery } from '../invites.ts'
import { idParams } from '../text.ts'
import { successReply, userReply } from '../users.ts'
import type { EndpointName } from './table.ts'

/** Contract: 5. */
export const administrationDeclarations = {
  listUsers: { summary: 'Search the accounts', query: admin.listUsersQuery, replies: { 200: admin.listUsersReply } },
  setRole: {
    summary: 'Give an account the role of an admin, or take it away',
    params: idParams,
    body: admin.roleBody,
    replies: { 200: userReply },
    refusals: ['user_unknown', 'target_deleted', 'target_is_stub', 'federated_admin', 'last_admin'],
  },
  resetPassword: {
    summary: 'Give an account a temporary password and end its sessions',
    params: idParams,
    replies: { 200: admin.resetPasswordReply },
    refusals: ['user_unknown', 'target_deleted', 'target_federated', 'hashing_busy'],
  },
  deleteUser: {
    summary: 'Delete an account for good',
    params: idParams,
    replies: { 200: successReply },
    refusals: [
      'user_unknown',
      'target_deleted',
      'own_account',
      'account_deletion_blocked_owned_spaces',
      'last_admin_deleted',
    ],
  },
  listUserInstances: { summary: 'The home instances that users have', replies: { 200: admin.userInstancesReply } },
  getSettings: { summary: 'The instance settings', replies: { 200: admin.settingsReply } },
  patchSettings: {
    summary: 'Change the instance settings',
    body: admin.settingsBody,
    replies: { 200: admin.settingsReply },
  },
  listAudit: { summary: 'The audit log, newest first', query: pageQuery, replies: { 200: admin.auditReply } },
} as const satisfies Partial<Record<EndpointName, EndpointDeclaration>>
