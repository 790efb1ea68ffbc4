import * as admin from '../admin.ts'
import { deleteUserBody, deleteUserReply, openOrdersReply } from '../federation.ts'
import { upstreamDeletionsReply } from '../upstream-deletions.ts'
import { pageQuery } from '../invites.ts'
import * as registrations from '../registrations.ts'
import { success, userReply } from '../users.ts'
import { created, endpoint, ok, type Declarations } from './declaration.ts'

const ofRegistration = ['registration_unknown', 'registration_decided'] as const
const ofUser = ['user_unknown', 'target_deleted'] as const

/** The endpoints of admins. Contract: 5, as a whole. */
export const administrationDeclarations = {
  overview: endpoint(
    'The instance in numbers: accounts, who is online, registrations a day, what waits for an admin',
    ok(admin.overviewReply),
  ),
  listUsers: endpoint('Search the accounts', ok(admin.listUsersReply), { query: admin.listUsersQuery }),
  describeUser: endpoint(
    'An account with its open sockets, its last login and what was done to it',
    ok(admin.describeUserReply),
    { refusals: ['user_unknown'] },
  ),
  setRole: endpoint('Give an account the role of an admin, or take it away', ok(userReply), {
    body: admin.roleBody,
    refusals: [...ofUser, 'target_is_stub', 'federated_admin', 'last_admin'],
  }),
  resetPassword: endpoint('Give an account a temporary password and end its sessions', ok(admin.resetPasswordReply), {
    refusals: [...ofUser, 'target_federated', 'hashing_busy'],
  }),
  createRecoveryLink: endpoint(
    'Make a link by which a person chooses a new password; only the newest counts, once, for a day',
    created(admin.recoveryLinkReply),
    { refusals: [...ofUser, 'target_federated', 'target_suspended'] },
  ),
  suspendUser: endpoint('End the sessions of a local account and refuse its logins', ok(userReply), {
    body: admin.suspendBody,
    refusals: [...ofUser, 'suspension_of_home', 'own_suspension', 'last_admin_suspended'],
  }),
  unsuspendUser: endpoint('Take logins of a suspended account again', ok(userReply), { refusals: ofUser }),
  endUserSessions: endpoint('End all sessions of an account; its password stays', success, { refusals: ofUser }),
  deleteUser: endpoint('Delete an account for good, here and at peers that have it', ok(deleteUserReply), {
    body: deleteUserBody,
    refusals: [
      ...ofUser,
      'own_account',
      'account_deletion_blocked_owned_spaces',
      'upstream_unavailable',
      'last_admin_deleted',
    ] as const,
  }),
  removeSecondFactor: endpoint('Turn off two-factor authentication for a user who has lost the device', success, {
    refusals: [...ofUser, 'second_factor_off'],
  }),
  listUserInstances: endpoint('The home instances that users have', ok(admin.userInstancesReply)),
  getSettings: endpoint('The instance settings', ok(admin.settingsReply)),
  patchSettings: endpoint('Change the instance settings', ok(admin.settingsReply), {
    body: admin.settingsBody,
    refusals: ['accent_color_invalid'],
  }),
  listOpenOrders: endpoint('Deletions ordered at peers that have not ended, newest first', ok(openOrdersReply), {
    query: pageQuery,
  }),
  listUpstreamDeletions: endpoint(
    'Deletions that an upstream has not confirmed yet, newest first',
    ok(upstreamDeletionsReply),
    { query: pageQuery },
  ),
  listRegistrations: endpoint(
    'Registrations that wait for approval, oldest first',
    ok(registrations.listRegistrationsReply),
    { query: registrations.listRegistrationsQuery },
  ),
  approveRegistration: endpoint('Create the account of a registration that waits', success, {
    refusals: [...ofRegistration, 'username_taken', 'identity_held'],
  }),
  denyRegistration: endpoint(
    'Deny a registration; within a minute it can be restored, then nothing of it is kept',
    ok(registrations.denyRegistrationReply),
    { body: registrations.denyRegistrationBody, refusals: ofRegistration },
  ),
  restoreRegistration: endpoint('Take a denial back, and the block of its network', success, {
    refusals: ofRegistration,
  }),
  decideRegistrations: endpoint(
    'Decide on many registrations, each on its own',
    ok(registrations.decideRegistrationsReply),
    { body: registrations.decideRegistrationsBody },
  ),
  listAudit: endpoint('The audit log, newest first', ok(admin.auditReply), { query: admin.auditQuery }),
} satisfies Declarations
