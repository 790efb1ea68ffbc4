import { deletionOrdersReply, fanoutBody, fanoutReply } from '../federation.ts'
import * as identities from '../identities.ts'
import * as passkeys from '../passkeys.ts'
import { proofChallenge, proofChallengeQuery } from '../proofs.ts'
import * as providers from '../providers.ts'
import * as registrations from '../registrations.ts'
import { attachTokenBody } from '../relay.ts'
import { socketsReply } from '../sockets.ts'
import * as users from '../users.ts'
import { created, endpoint, ok, okOrCreated, type Declarations } from './declaration.ts'

const ofLoginCode = ['second_factor_required', 'second_factor_wrong', 'second_factor_blocked'] as const
const ofTicket = ['ticket_refused', 'fresh_sign_in_required'] as const
const ofOwnPassword = ['password_required', 'password_incorrect', 'hashing_busy', ...ofTicket] as const
/** Where a token counts although none is needed. */
const ofOptionalToken = ['invalid_token', 'token_revoked', 'account_deleted'] as const
const ofToken = ['unauthorized', ...ofOptionalToken] as const
const ofOwnCode = ['second_factor_off', 'second_factor_incorrect', 'second_factor_blocked'] as const

/** Errors of a registration that an admin has to approve. Contract: 3, Approval. */
const ofApproval = ['reason_required', 'reason_too_long', 'registration_blocked'] as const
const pending = { 202: registrations.pendingRegistrationReply }

/** The endpoints of accounts. Contract: 3, as a whole. */
export const accountDeclarations = {
  register: endpoint(
    'Register an account',
    { ...okOrCreated(users.credentialsReply), ...pending },
    {
      body: users.registerBody,
      refusals: [
        'username_length_invalid',
        'username_characters_invalid',
        'username_local_part_invalid',
        'username_domain_part_invalid',
        'username_too_long',
        'replicated_username_format_required',
        'username_required',
        'password_required',
        'password_too_short',
        'display_name_too_long',
        'home_instance_invalid',
        'home_instance_is_here',
        'username_taken',
        'federated_account_exists',
        'invite_required',
        'invite_invalid',
        'federated_registration_closed',
        'hashing_busy',
        'registration_by_password_closed',
        'proof_required',
        'proof_refused',
        ...ofApproval,
      ] as const,
    },
  ),
  readRegistration: endpoint(
    'What became of a registration that waited for approval, by its receipt',
    ok(registrations.readRegistrationReply),
    { body: registrations.readRegistrationBody },
  ),
  checkUsername: endpoint('Whether a username is free', ok(users.checkUsernameReply), {
    query: users.checkUsernameQuery,
    refusals: ['username_required', 'registration_closed'],
  }),
  checkInvite: endpoint('Whether an invite can still be used', ok(users.checkInviteReply), {
    query: users.checkInviteQuery,
  }),
  proofChallenge: endpoint(
    'A challenge that a registration solves, for two minutes; 404 while the instance asks for no proof of work',
    ok(proofChallenge),
    { query: proofChallengeQuery, refusals: ['not_found', 'registration_blocked'] },
  ),
  login: endpoint('Log in with username and password', ok(users.credentialsReply), {
    body: users.loginBody,
    refusals: [
      'username_required',
      'password_required',
      'invalid_credentials',
      'account_deleted',
      'account_suspended',
      'account_suspended_by_home',
      'registration_pending',
      ...ofLoginCode,
      'home_second_factor',
      'federated_registration_closed',
      'hashing_busy',
    ] as const,
  }),
  recover: endpoint('Choose a new password by a link of an admin, and log in', ok(users.credentialsReply), {
    body: users.recoverBody,
    refusals: ['password_too_short', 'recovery_link_invalid', ...ofLoginCode, 'hashing_busy'],
  }),
  requestRecovery: endpoint('Mail a password reset link to the confirmed address of an account', users.accepted, {
    body: users.requestRecoveryBody,
    refusals: ['mail_off'],
  }),
  confirmEmail: endpoint('Confirm an email address with the token of the mail', users.success, {
    body: users.confirmEmailBody,
    refusals: ['email_token_invalid'],
  }),
  setEmail: endpoint('Set the own email address, and mail it a link that confirms it', ok(users.setEmailReply), {
    body: users.setEmailBody,
    refusals: ['email_invalid', 'mail_off', 'native_account_required', 'email_limit', ...ofOwnPassword],
  }),
  removeEmail: endpoint('Remove the own email address', users.success, {
    body: users.ownPasswordBody,
    refusals: ofOwnPassword,
  }),
  getSelf: endpoint('The current user', ok(users.selfReply), { refusals: ['user_unknown'] }),
  patchSelf: endpoint('Change the own profile', ok(users.selfReply), {
    body: users.profileBody,
    refusals: [
      'display_name_too_long',
      'bio_too_long',
      'custom_status_too_long',
      'accent_color_invalid',
      'avatar_color_invalid',
      'avatar_url_invalid',
      'banner_url_invalid',
      'no_fields_to_update',
      'file_not_own',
      'profile_managed_by_home',
      'identity_is_local',
      'identity_fixed',
      'identity_unconfirmed',
      'identity_held',
    ] as const,
  }),
  getUser: endpoint('Another user', ok(users.userReply), { refusals: ['user_unknown'] }),
  verifyPassword: endpoint('Verify the own password', ok(users.verifyPasswordReply), {
    body: users.ownPasswordBody,
    refusals: ['password_required', 'hashing_busy', ...ofTicket],
  }),
  changePassword: endpoint('Change the own password; every earlier token is revoked', ok(users.tokenReply), {
    body: users.changePasswordBody,
    refusals: [
      'password_too_short',
      'current_password_required',
      'current_password_incorrect',
      'password_changed_meanwhile',
      'hashing_busy',
      ...ofTicket,
    ] as const,
  }),
  deleteSelf: endpoint('Delete the own account for good', users.success, {
    body: users.deleteSelfBody,
    refusals: [
      'username_confirmation_required',
      'username_confirmation_mismatch',
      'password_required',
      'account_deletion_password_incorrect',
      'account_deletion_blocked_owned_spaces',
      'upstream_unavailable',
      'hashing_busy',
      ...ofTicket,
    ] as const,
  }),
  deleteFederationIdentity: endpoint('Delete the own identity on other instances', ok(fanoutReply), {
    body: fanoutBody,
    refusals: ['not_at_home'],
  }),
  listDeletionOrders: endpoint(
    'What became of the deletions of the own identity that were ordered',
    ok(deletionOrdersReply),
  ),
  upload: endpoint('Upload an image for the own profile', created(users.uploadReply), {
    body: 'multipart',
    refusals: [
      'form_required',
      'file_missing',
      'image_unreadable',
      'image_too_large',
      'image_too_costly',
      'too_many_unclaimed_uploads',
      'too_many_uploads',
      'disk_full',
      'images_busy',
    ] as const,
  }),
  getUpload: endpoint(
    'An uploaded image',
    { 200: 'file', 206: 'file' },
    { params: users.uploadParams, refusals: ['upload_unknown', 'range_not_satisfiable'] },
  ),
  instanceInfo: endpoint(
    'The name of this instance, what it says of itself, and which registrations are open',
    ok(users.instanceInfoReply),
  ),
  endSessions: endpoint(
    'End all own sessions: every earlier token is revoked and every socket closes',
    ok(users.tokenReply),
    { body: users.ownPasswordBody, refusals: ofOwnPassword },
  ),
  renewToken: endpoint('A fresh token for one that is older than a day', ok(users.tokenReply), {
    refusals: ['renewal_off', 'renewal_too_early'],
  }),
  listSockets: endpoint('The own sockets that are open now', ok(socketsReply)),
  listSignIns: endpoint('Your logins of the last 90 days', ok(users.signInsReply)),
  exportData: endpoint('Everything of the own account, as a ZIP archive', ok('archive'), {
    body: users.ownPasswordBody,
    refusals: ['export_under_way', 'exports_busy', ...ofOwnPassword],
  }),
  getRegistry: endpoint('The instances to which the own clients have connected', ok(identities.registryReply)),
  putRegistry: endpoint('Replace the list of connected instances', ok(identities.putRegistryReply), {
    body: identities.registryBody,
    refusals: ['registry_conflict'],
  }),
  federationCredential: endpoint(
    'The password of the own account at another instance, made once',
    ok(identities.federationCredentialReply),
    {
      body: identities.federationCredentialBody,
      refusals: [
        'origin_required',
        'origin_invalid',
        'federation_credential_remote_only',
        'federation_credential_home_only',
        'too_many_federation_credentials',
      ] as const,
    },
  ),
  attachProof: endpoint(
    'A proof for another instance that the own account is the home of an account there',
    ok(users.tokenReply),
    {
      body: identities.attachProofBody,
      refusals: ['target_domain_required', 'target_domain_invalid', 'native_account_required'],
    },
  ),
  reattach: endpoint('Bind the own detached account to its new home account', ok(identities.reattachReply), {
    body: attachTokenBody,
    refusals: [
      'not_detached',
      'admin_stays_local',
      'home_not_peered',
      'home_unreachable',
      'proof_invalid',
      'identity_held',
      'second_factor_on',
    ] as const,
  }),
  readSecondFactor: endpoint('Since when two-factor authentication is on', ok(users.secondFactorState)),
  beginSecondFactor: endpoint(
    'A secret for two-factor authentication, valid for ten minutes until it is confirmed',
    ok(users.secondFactorReply),
    {
      body: users.ownPasswordBody,
      refusals: ['second_factor_local_only', ...ofOwnPassword, 'second_factor_on'],
    },
  ),
  confirmSecondFactor: endpoint('Turn on two-factor authentication with a code', ok(users.recoveryCodesReply), {
    body: users.confirmSecondFactorBody,
    refusals: ['second_factor_local_only', 'second_factor_on', 'second_factor_not_waiting', 'second_factor_incorrect'],
  }),
  renewRecoveryCodes: endpoint('New recovery codes in place of the old ones', ok(users.recoveryCodesReply), {
    body: users.ownSecondFactorBody,
    refusals: ['second_factor_local_only', ...ofOwnCode, ...ofOwnPassword],
  }),
  endSecondFactor: endpoint('Turn off two-factor authentication', users.success, {
    body: users.ownSecondFactorBody,
    refusals: ['second_factor_local_only', ...ofOwnCode, ...ofOwnPassword],
  }),
  passkeyOptions: endpoint(
    'What a browser needs to log in with a passkey, the same for everybody',
    ok(passkeys.requestOptions),
  ),
  logInByPasskey: endpoint('Log in with a passkey, which is both factors', ok(users.credentialsReply), {
    body: passkeys.passkeyLoginBody,
    refusals: ['passkey_challenge_invalid', 'passkey_rejected', 'passkey_cloned', 'account_suspended'] as const,
  }),
  beginPasskey: endpoint('What a browser needs to make a passkey for the own account', ok(passkeys.creationOptions), {
    body: users.ownPasswordBody,
    refusals: ['passkeys_local_only', ...ofOwnPassword, 'too_many_passkeys'],
  }),
  addPasskey: endpoint('Add a passkey that the browser made', created(passkeys.passkeyReply), {
    body: passkeys.addPasskeyBody,
    refusals: [
      'passkeys_local_only',
      'passkey_challenge_invalid',
      'passkey_response_invalid',
      'passkey_known',
      'too_many_passkeys',
    ] as const,
  }),
  listPasskeys: endpoint('The own passkeys, oldest first', ok(passkeys.passkeysReply)),
  removePasskey: endpoint('Remove an own passkey', users.success, {
    body: users.ownPasswordBody,
    refusals: ['passkey_unknown', 'last_sign_in_method', ...ofOwnPassword],
  }),
  listProviders: endpoint('With what people can sign in', ok(providers.providersReply)),
  startProvider: endpoint(
    'Where the identity provider signs a person in; sets the cookie that binds the browser',
    ok(providers.startProviderReply),
    {
      params: providers.providerParams,
      body: providers.startProviderBody,
      refusals: ['provider_unknown', 'provider_unavailable', 'providers_local_only', ...ofToken],
    },
  ),
  providerCallback: endpoint(
    'Where the identity provider sends the browser back; leads to /sign-in with a ticket or an error in the fragment',
    { 303: 'redirect' },
    { params: providers.providerParams, query: providers.providerCallbackQuery },
  ),
  finishProvider: endpoint(
    'Log in, register or link an identity with the ticket of a sign-in',
    { 200: providers.finishProviderReply, 201: users.credentialsReply, ...pending },
    {
      body: providers.finishProviderBody,
      refusals: [
        'ticket_invalid',
        'provider_unknown',
        'account_suspended',
        ...ofLoginCode,
        ...ofOptionalToken,
        'provider_username_required',
        'registration_by_provider_closed',
        'username_taken',
        'username_length_invalid',
        'username_characters_invalid',
        'display_name_too_long',
        'invite_required',
        'invite_invalid',
        'providers_local_only',
        'identity_held',
        'identity_limit',
        'registration_pending',
        ...ofApproval,
        ...ofOwnPassword,
      ] as const,
    },
  ),
  listLinkedIdentities: endpoint('The own linked identities, oldest first', ok(providers.linkedIdentitiesReply)),
  unlinkIdentity: endpoint('Remove an own linked identity', users.success, {
    body: users.ownPasswordBody,
    refusals: ['linked_identity_unknown', 'last_sign_in_method', ...ofOwnPassword],
  }),
  backChannelLogout: endpoint(
    'An identity provider ends all sessions of an account (OpenID Connect Back-Channel Logout 1.0)',
    users.success,
    {
      params: providers.providerParams,
      body: 'form',
      refusals: ['provider_unknown', 'provider_unavailable', 'logout_token_invalid'],
    },
  ),
} satisfies Declarations
