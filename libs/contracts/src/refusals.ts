import { z } from 'zod'
import { avatarColors } from './constants/profile-fields.ts'
import * as limits from './constants/limits.ts'
import { registrationOffer } from './providers.ts'
import { namedObject } from './text.ts'
import { ownedSpaces } from './users.ts'

/** For unreadable requests the field is `body`, `address` or a header. */
export const inputFault = namedObject('InputFault', {
  field: z.string(),
  reason: z.enum([
    'required',
    'wrong_type',
    'invalid',
    'too_short',
    'too_long',
    'too_small',
    'too_large',
    'characters',
    'repeated',
    'malformed',
  ] as const),
  min: z.number().optional(),
  max: z.number().optional(),
})
export type InputFault = z.infer<typeof inputFault>

type Stated = { status: number; text: string }
/** `fields`: what its body has beside `error`, `statusCode` and `code`. */
function refusal(status: number, text: string): Stated
function refusal<F extends z.ZodRawShape>(status: number, text: string, fields: F): Stated & { fields: F }
function refusal(status: number, text: string, fields?: z.ZodRawShape) {
  return { status, text, ...(fields && { fields }) }
}

const details = { details: inputFault }
const anyDetails = { details: inputFault.optional() }
const spaces = { ownedSpaces }
const retryAfter = z.number().int()
/** Existing instances read this answer to an offer. protocol.md 2.2. */
const notAccepted = { accepted: z.literal(false), code: z.literal('PEERING_REQUIRES_APPROVAL') }
const nameCheck = { available: z.literal(false).optional(), reason: z.string().optional() }
const localName = refusal(
  400,
  'Username must be 3 to 32 characters and contain only lowercase letters, numbers and underscores',
)
const federatedName = refusal(
  400,
  'Username must look like name@domain: the name 3 to 32 lowercase letters, numbers or underscores, 100 characters in total',
)

/** The codes are public API. Contract: 1, errors; protocol.md 5.3. */
export const refusals = {
  validation_failed: refusal(400, 'Invalid input', details),
  unauthorized: refusal(401, 'Unauthorized'),
  invalid_token: refusal(401, 'Invalid token'),
  token_revoked: refusal(401, 'Token has been revoked'),
  account_deleted: refusal(401, 'This account has been deleted'),
  admin_required: refusal(403, 'Admin access required'),
  second_factor_setup_required: refusal(
    403,
    'This instance requires two-factor authentication for admins: set it up first',
  ),
  statement_invalid: refusal(
    401,
    'Send "Authorization: Upstream <JWS>", signed for this instance with the key in the upstreams file',
  ),
  statement_stale: refusal(
    401,
    `The statement has expired, or its times are more than ${limits.upstreamLimits.askSeconds} seconds apart or off from this instance\'s clock`,
  ),
  right_missing: refusal(403, 'The upstreams file does not grant you this right'),
  version_unknown: refusal(409, 'This instance does not know this version: start again from 0'),
  forbidden: refusal(403, 'Forbidden'),
  not_found: refusal(404, 'Not found'),
  method_not_allowed: refusal(405, 'Method not allowed'),
  body_too_large: refusal(413, 'Request body too large'),
  unsupported_media_type: refusal(415, 'Unsupported content type'),
  json_required: refusal(415, 'Send the body as application/json'),
  form_required: refusal(415, 'Send the body as multipart/form-data'),
  internal: refusal(500, 'Internal server error'),
  unavailable: refusal(503, 'Service temporarily unavailable, please try again'),

  malformed_request: refusal(400, 'Malformed request'),
  request_timeout: refusal(408, 'Request timeout'),
  upgrade_required: refusal(426, 'Upgrade Required'),
  /** The contract fixes this body, without a code. */
  rate_limited: refusal(429, 'Too Many Requests', { message: z.literal('Rate limit exceeded'), retryAfter }),
  headers_too_large: refusal(431, 'Request Header Fields Too Large'),
  bad_gateway: refusal(
    502,
    'The service broke off the response. The request may have been carried out: check before you repeat it',
  ),
  upgrade_broken: refusal(502, 'The service closed the connection'),
  upgrade_late: refusal(504, 'The service did not respond in time'),
  busy: refusal(503, 'Service temporarily unavailable, please try again'),
  restarting: refusal(503, 'The server is restarting, please try again'),
  too_many_connections: refusal(503, 'Too many connections, please try again'),
  too_many_uploads: refusal(503, 'Too many uploads in progress, please try again'),
  gateway_timeout: refusal(
    504,
    'The service did not respond in time. The request may have been carried out: check before you repeat it',
  ),

  username_required: refusal(400, 'username is required', { ...anyDetails, ...nameCheck }),
  password_required: refusal(400, 'Password is required', anyDetails),
  password_too_short: refusal(400, `Password must be at least ${limits.passwordMinCodePoints} characters`, details),
  username_confirmation_required: refusal(400, 'username is required', details),
  display_name_too_long: refusal(400, `displayName must be at most ${limits.displayNameMax} characters`, details),
  bio_too_long: refusal(400, `bio must be at most ${limits.bioMax} characters`, details),
  custom_status_too_long: refusal(400, `customStatus must be at most ${limits.customStatusMax} characters`, details),
  accent_color_invalid: refusal(400, 'accentColor must be a color like #rrggbb', details),
  avatar_color_invalid: refusal(400, `avatarColor must be one of ${avatarColors.join(', ')}`, details),
  avatar_url_invalid: refusal(400, 'avatar must be the filename of an upload', details),
  banner_url_invalid: refusal(400, 'banner must be the filename of an upload', details),
  home_instance_invalid: refusal(400, 'homeInstance must be a host name', anyDetails),
  target_domain_required: refusal(400, 'targetDomain is required', details),

  username_length_invalid: localName,
  username_characters_invalid: localName,
  username_local_part_invalid: federatedName,
  username_domain_part_invalid: federatedName,
  username_too_long: federatedName,
  replicated_username_format_required: federatedName,
  home_instance_is_here: refusal(400, 'homeInstance is this instance: register a local account instead'),
  username_taken: refusal(409, 'Username already taken'),
  federated_account_exists: refusal(409, 'Username already taken: this account exists, log in instead'),
  invite_required: refusal(403, 'Registration is closed. An invite is required.'),
  invite_invalid: refusal(403, 'Invalid or expired invite'),
  registration_closed: refusal(403, 'Registration is currently closed', nameCheck),
  federated_registration_closed: refusal(403, 'Federated registration is closed on this instance'),
  invalid_credentials: refusal(401, 'Invalid username or password'),
  account_suspended: refusal(403, 'This account is suspended', { reason: z.string().nullable() }),
  account_suspended_by_home: refusal(403, 'Account suspended by its home instance'),
  second_factor_required: refusal(401, 'Enter an authentication code'),
  second_factor_wrong: refusal(401, 'Wrong authentication code, or it has already been used'),
  /** Where the caller's token is right. */
  second_factor_incorrect: refusal(403, 'Wrong authentication code, or it has already been used'),
  second_factor_blocked: refusal(429, 'Too many wrong codes: no codes are accepted for a while', { retryAfter }),
  second_factor_on: refusal(409, 'Two-factor authentication is on for this account: turn it off first'),
  second_factor_off: refusal(409, 'Two-factor authentication is off for this account'),
  second_factor_not_waiting: refusal(409, 'No two-factor setup is waiting to be confirmed: start again'),
  second_factor_local_only: refusal(403, 'Two-factor authentication is managed by your home instance: set it up there'),
  home_second_factor: refusal(
    401,
    'Your home instance requires an authentication code: log in there and connect this instance from there, or use the password that this instance has for you',
  ),
  passkeys_local_only: refusal(403, 'Your passkeys are managed by your home instance: add one there'),
  passkey_challenge_invalid: refusal(400, 'The challenge has expired or has been used: please try again'),
  passkey_response_invalid: refusal(400, 'The response of the device is not valid'),
  passkey_rejected: refusal(401, 'This passkey does not belong to an account here: it may have been removed'),
  passkey_cloned: refusal(401, 'This passkey has been cloned: log in with your password and remove it'),
  passkey_known: refusal(409, 'This passkey has already been added'),
  passkey_unknown: refusal(404, 'Passkey not found'),
  too_many_passkeys: refusal(409, `An account can have up to 10 passkeys: remove one first`),
  /** The code is that of a missing username; the status tells them apart. */
  provider_username_required: refusal(409, 'Choose a username to create your account', {
    code: z.literal('username_required'),
    ...registrationOffer,
  }),
  provider_unknown: refusal(404, 'This instance has no such identity provider'),
  provider_unavailable: refusal(503, 'The identity provider cannot be reached right now, please try again'),
  providers_local_only: refusal(403, 'Accounts on other instances sign in through their home instance'),
  ticket_invalid: refusal(401, 'This sign-in has expired or has already been used: please start again'),
  /** Where the caller's token is right. */
  ticket_refused: refusal(403, 'This sign-in has expired or has already been used: please start again'),
  fresh_sign_in_required: refusal(403, 'Sign in at the identity provider again to confirm that it is you'),
  linked_identity_unknown: refusal(404, 'Linked identity not found'),
  identity_limit: refusal(
    409,
    `An account can have up to ${limits.linkedIdentitiesMax} linked identities: remove one first`,
  ),
  last_sign_in_method: refusal(409, 'This is your only way to log in: set a password or add another one first'),
  registration_by_provider_closed: refusal(403, 'No account can be created with this identity provider'),
  reason_required: refusal(400, 'A reason is required'),
  reason_too_long: refusal(400, `reason must be at most ${limits.registrationReasonMax} characters`, details),
  registration_blocked: refusal(403, 'Registrations from your network are not accepted for now'),
  registration_pending: refusal(403, 'Your registration is waiting for approval'),
  registration_unknown: refusal(404, 'Registration not found'),
  registration_decided: refusal(409, 'This registration has already been decided'),
  registration_by_password_closed: refusal(403, 'Accounts are created with an identity provider here'),
  proof_required: refusal(
    403,
    'Proof of work is required: solve the challenge of GET /api/auth/challenge and send it as proof',
  ),
  proof_refused: refusal(403, 'This proof of work is wrong, has expired or has been used: solve a new challenge'),
  logout_token_invalid: refusal(400, 'invalid_request'),
  recovery_link_invalid: refusal(400, 'This link is no longer valid: ask an admin for a new one'),
  mail_off: refusal(404, 'This instance sends no mail'),
  email_invalid: refusal(400, 'Enter an email address such as alice@mail.example', details),
  email_token_invalid: refusal(404, 'This link is no longer valid: ask for a new one in your settings'),
  email_limit: refusal(429, 'Too many mails for your address: try again later', { retryAfter }),
  current_password_required: refusal(400, 'Current password is required'),
  current_password_incorrect: refusal(403, 'Incorrect password'),
  password_incorrect: refusal(403, 'Incorrect password'),
  account_deletion_password_incorrect: refusal(403, 'Incorrect password'),
  renewal_off: refusal(403, 'Sessions are not renewed on this instance'),
  renewal_too_early: refusal(409, 'A token is renewed once it is older than a day'),
  password_changed_meanwhile: refusal(409, 'Your password has just changed, please log in again'),
  username_confirmation_mismatch: refusal(400, 'Username does not match'),
  account_deletion_blocked_owned_spaces: refusal(400, 'You must transfer or delete the spaces you own first', spaces),
  profile_managed_by_home: refusal(403, 'Profile fields are managed by your home instance'),
  file_not_own: refusal(400, 'avatar and banner must be files that you uploaded'),
  no_fields_to_update: refusal(400, 'Send at least one field'),
  identity_is_local: refusal(403, 'Only accounts from other instances have a homeUserId'),
  identity_fixed: refusal(409, 'This account already has a different homeUserId'),
  identity_unconfirmed: refusal(403, 'Your home instance does not confirm this homeUserId'),
  identity_held: refusal(409, 'This identity belongs to another account'),
  registry_conflict: refusal(409, 'A newer list of connected instances has already been saved'),
  origin_required: refusal(400, 'origin is required', details),
  federation_credential_remote_only: refusal(400, 'Credentials are only for accounts on other instances'),
  federation_credential_home_only: refusal(409, "Credentials are issued by the account's home instance"),
  too_many_federation_credentials: refusal(409, 'This account has credentials for too many instances'),
  native_account_required: refusal(403, 'Only local accounts can do this'),
  target_domain_invalid: refusal(400, 'targetDomain must be the host name of another instance'),
  not_detached: refusal(403, 'This account is still linked to its home instance'),
  admin_stays_local: refusal(
    409,
    'An admin must give up the role before the account can be linked to another instance',
  ),
  home_not_peered: refusal(409, 'Your home instance is not an active peer of this instance'),
  home_unreachable: refusal(502, 'Your home instance cannot be reached right now'),
  proof_invalid: refusal(401, 'Your home instance did not confirm this proof'),
  not_at_home: refusal(403, 'Accounts on other instances are deleted through the home instance'),
  file_missing: refusal(400, 'Send one image in the field "file"'),
  image_unreadable: refusal(400, 'The file is not a PNG, JPEG, WebP, GIF or AVIF image'),
  image_too_large: refusal(400, 'The image has more than 40 megapixels'),
  image_too_costly: refusal(400, 'The image needs too much memory to decode: make it smaller or save it as JPEG'),
  too_many_unclaimed_uploads: refusal(
    409,
    'Too many unused uploads: use one of them in your profile, or try again tomorrow',
  ),
  upload_unknown: refusal(404, 'File not found'),
  range_not_satisfiable: refusal(416, 'Range not satisfiable'),
  disk_full: refusal(503, 'Uploads are not accepted right now: the disk is nearly full'),
  images_busy: refusal(503, 'Too many uploads right now, please try again'),
  export_under_way: refusal(409, 'An export of this account is already in progress'),
  exports_busy: refusal(503, 'Too many exports right now, please try again'),
  hashing_busy: refusal(503, 'Too many logins right now, please try again'),

  application_unknown: refusal(404, 'Application not found'),
  redirect_uri_invalid: refusal(
    400,
    'redirectUris must be https, http on a loopback address, or of a private scheme of a public application',
    details,
  ),
  receiver_uri_invalid: refusal(400, 'The address must be https, or http on a loopback address', details),
  receiver_uri_private: refusal(
    400,
    'This instance sends nothing to private addresses, unless its operator allows them in FEDERATION_ALLOW_PRIVATE',
    details,
  ),
  application_limit: refusal(409, `This instance has ${limits.applicationsMax} applications, which is the limit`),
  application_pairwise: refusal(
    400,
    'With subjectType pairwise, all redirectUris must have the same host, and deviceGrant is not possible',
  ),
  application_public: refusal(409, 'A public application has no secret'),
  receiver_missing: refusal(409, 'This application has no address for signals'),
  interaction_unknown: refusal(404, 'This request is over, or belongs to another browser: start again there'),
  fresh_login_required: refusal(403, 'The application requires that you log in again'),
  device_code_unknown: refusal(404, 'No device waits with this code'),

  invite_unknown: refusal(404, 'Invite not found'),
  expiry_past: refusal(400, 'expiresAt must be in the future'),
  expiry_too_late: refusal(400, 'expiresAt must be at most 30 days ahead'),
  invite_revoked: refusal(409, 'This invite has been revoked'),
  invite_already_revoked: refusal(409, 'This invite has already been revoked'),
  invite_active: refusal(409, 'This invite is already active'),
  max_uses_too_low: refusal(400, 'maxUses cannot be lower than the number of uses so far'),
  invite_still_ended: refusal(400, 'The invite would still not work: raise maxUses or move expiresAt into the future'),
  member_invites_off: refusal(403, 'Members do not create invites on this instance'),
  member_invites_spent: refusal(409, 'You have created all the invites that you may for now'),
  no_free_token: refusal(503, 'Could not create an invite token, please try again'),

  user_unknown: refusal(404, 'User not found'),
  user_ambiguous: refusal(409, 'One account has this ID and another has this name: use id:… or name:…'),
  target_deleted: refusal(400, 'This account has been deleted'),
  target_federated: refusal(400, 'Federated users authenticate via their home instance'),
  target_is_stub: refusal(400, 'This user has never logged in here'),
  federated_admin: refusal(403, 'A federated account cannot become an admin'),
  target_suspended: refusal(409, 'This account is suspended'),
  suspension_of_home: refusal(400, 'Accounts from other instances are suspended by their home instance'),
  own_suspension: refusal(409, 'You cannot suspend your own account'),
  last_admin_suspended: refusal(409, 'The last admin cannot be suspended'),
  own_account: refusal(400, 'Delete your own account in your settings'),
  last_admin_deleted: refusal(409, 'The last admin cannot be deleted'),
  last_admin: refusal(409, 'The last admin cannot step down'),

  signature_missing: refusal(401, 'A signed request needs well-formed X-Federation headers'),
  signature_headers_missing: refusal(400, 'The X-Federation headers are missing'),
  signature_wrong: refusal(401, 'The signature does not match the request'),
  signature_stale: refusal(401, "The timestamp is too far from this instance's clock"),
  peer_unknown: refusal(403, 'The origin is not an active peer of this instance'),
  source_mismatch: refusal(403, 'sourceInstance does not match the authenticated peer'),
  nonce_used: refusal(409, 'This nonce has already been used'),
  relay_busy: refusal(503, 'Another batch is being read right now, please send this one again'),
  body_too_slow: refusal(408, 'The body arrived too slowly'),
  body_encoded: refusal(415, 'Send the body without a content encoding'),
  foreign_identity: refusal(403, 'homeInstance is not the host of the instance that signed'),
  owns_spaces: refusal(409, 'owns_spaces', spaces),
  upstream_unavailable: refusal(503, 'A service that has to check for owned spaces is not responding', {
    upstream: z.string(),
  }),
  user_not_found: refusal(404, 'No such user', { found: z.literal(false) }),
  rotation_running: refusal(409, 'The secret is already being rotated'),
  origin_invalid: refusal(
    400,
    'This is not the origin of an instance that can be reached, such as https://chat.example',
    anyDetails,
  ),
  origin_is_own: refusal(400, 'This is the origin of this instance'),
  offer_exists: refusal(409, 'The instances are already peers; revoke the peer to start over', {
    accepted: z.literal(false),
    code: z.literal('PEER_EXISTS_RESET_REQUIRED'),
    instanceName: z.string(),
    instanceId: z.string(),
  }),
  peering_final: refusal(403, 'Peering with this instance requires an approval by its admin', notAccepted),
  origin_not_proven: refusal(403, 'The origin did not prove that it sent this offer', notAccepted),
  too_many_offers: refusal(503, 'Too many offers are waiting for proof, please try again later'),
  peer_exists: refusal(409, 'The instances are already peers; revoke the peer to start over'),
  peer_needs_reset: refusal(409, 'The peer needs attention; reset it to start over'),
  peer_state: refusal(409, 'The peer’s status does not allow this'),
  handshake_overtaken: refusal(409, 'The peer has changed in the meantime; check it again'),
  request_decided: refusal(409, 'This request has already been decided'),
  too_many_peering_requests: refusal(409, 'Too many requests are waiting for an admin of this instance'),
  remote_unresolved: refusal(400, 'No server has this name; check the address'),
  remote_unreachable: refusal(503, 'The other instance cannot be reached right now'),
  remote_refused: refusal(409, 'The other instance rejected the request', {
    code: z.literal('PEER_EXISTS_RESET_REQUIRED').optional(),
    answer: z.string(),
  }),
  rotation_refused: refusal(409, 'The other instance did not accept the new secret'),
  remote_unproven: refusal(409, 'The other instance did not prove that it has the secret'),
  remote_clock: refusal(409, 'The clocks of the two instances are more than 15 minutes apart'),
}

type Refusals = typeof refusals
export type RefusalCode = keyof Refusals
export type RefusalFields<C extends RefusalCode> = Refusals[C] extends { fields: infer F extends z.ZodRawShape }
  ? z.input<z.ZodObject<F>>
  : unknown

export const codesOfFaults: Readonly<Record<string, FaultCode>> = {
  'username required': 'username_required',
  'password required': 'password_required',
  'password too_short': 'password_too_short',
  'newPassword too_short': 'password_too_short',
  'displayName too_long': 'display_name_too_long',
  'bio too_long': 'bio_too_long',
  'customStatus too_long': 'custom_status_too_long',
  accentColor: 'accent_color_invalid',
  avatarColor: 'avatar_color_invalid',
  avatar: 'avatar_url_invalid',
  banner: 'banner_url_invalid',
  homeInstance: 'home_instance_invalid',
  'targetDomain required': 'target_domain_required',
  'origin required': 'origin_required',
  email: 'email_invalid',
  redirectUris: 'redirect_uri_invalid',
  postLogoutRedirectUris: 'redirect_uri_invalid',
  backchannelLogoutUri: 'receiver_uri_invalid',
  signalsUri: 'receiver_uri_invalid',
  origin: 'origin_invalid',
}
export type FaultCode = {
  [Code in RefusalCode]: Refusals[Code] extends { fields: { details: unknown } } ? Code : never
}[RefusalCode]
