import * as admin from '../admin.ts'
import type { EndpointDeclaration } from '../define.ts'
import { openOrdersReply } from '../federation.ts'
import { upstreamDeletionsReply } from '../upstream-questions.ts'
import { pageQuery } from '../invites.ts'
import { idParams } from '../text.ts'
import { successReply, userReply } from '../users.ts'
import type { EndpointName } from './table.ts'

/** Contract: 5. */
export const administrationDeclarations = {
  overview: {
    summary: 'The instance in numbers: accounts, who is online, registrations a day, what waits for an admin',
    replies: { 200: admin.overviewReply },
  },
  listUsers: { summary: 'Search the accounts', query: admin.listUsersQuery, replies: { 200: admin.listUsersReply } },
  describeUser: {
    summary: 'An account with its open sockets, its last login and what was done to it',
    params: idParams,
    replies: { 200: admin.describeUserReply },
    refusals: ['user_unknown'],
  },
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
  createRecoveryLink: {
    summary: 'Make a link by which a person chooses a new password; only the newest counts, once, for a day',
    params: idParams,
    replies: { 201: admin.recoveryLinkReply },
    refusals: ['user_unknown', 'target_deleted', 'target_federated', 'target_suspended'],
  },
  suspendUser: {
    summary: 'End the sessions of a local account and refuse its logins',
    params: idParams,
    body: admin.suspendBody,
    replies: { 200: userReply },
    refusals: ['user_unknown', 'target_deleted', 'suspension_of_home', 'own_suspension', 'last_admin_suspended'],
  },
  unsuspendUser: {
    summary: 'Take logins of a suspended account again',
    params: idParams,
    replies: { 200: userReply },
    refusals: ['user_unknown', 'target_deleted'],
  },
  endUserSessions: {
    summary: 'End all sessions of an account; its password stays',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['user_unknown', 'target_deleted'],
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
      'upstream_unavailable',
      'last_admin_deleted',
    ],
  },
  removeSecondFactor: {
    summary: 'Turn off the second factor of an account whose owner has lost it',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['user_unknown', 'target_deleted', 'second_factor_off'],
  },
  listUserInstances: { summary: 'The home instances that users have', replies: { 200: admin.userInstancesReply } },
  getSettings: { summary: 'The instance settings', replies: { 200: admin.settingsReply } },
  patchSettings: {
    summary: 'Change the instance settings',
    body: admin.settingsBody,
    replies: { 200: admin.settingsReply },
    refusals: ['accent_color_invalid'],
  },
  listOpenOrders: {
    summary: 'Deletions ordered at peers that have not ended, newest first',
    query: pageQuery,
    replies: { 200: openOrdersReply },
  },
  listUpstreamDeletions: {
    summary: 'Deletions that a further service has not yet said it has done, newest first',
    query: pageQuery,
    replies: { 200: upstreamDeletionsReply },
  },
  listAudit: { summary: 'The audit log, newest first', query: admin.auditQuery, replies: { 200: admin.auditReply } },
} as const satisfies Partial<Record<EndpointName, EndpointDeclaration>>
