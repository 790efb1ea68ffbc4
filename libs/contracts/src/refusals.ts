import { z } from 'zod'
import { avatarColors } from './constants/profile-fields.ts'
import * as limits from './constants/limits.ts'
import { ownedSpaces } from './users.ts'

export const faultReason = z.enum([
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
])

/** For unreadable requests the field is `body`, `address` or a header. */
export const inputFault = z
  .object({
    field: z.string(),
    reason: faultReason,
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .meta({ id: 'InputFault' })
export type InputFault = z.infer<typeof inputFault>

const details = { details: inputFault }
const spaces = { ownedSpaces }
/** Existing instances read this answer to an offer. federation-wire.md 2.2. */
const notAccepted = { accepted: z.literal(false), code: z.literal('PEERING_REQUIRES_APPROVAL') }
const nameCheck = { available: z.literal(false).optional(), reason: z.string().optional() }
const localName = {
  status: 400,
  text: 'Username must be 3 to 32 characters and contain only lowercase letters, numbers and underscores',
} as const
const federatedName = {
  status: 400,
  text: 'Username must look like name@domain: a name of 3 to 32 lowercase letters, numbers and underscores, 100 characters in all',
} as const

/** The codes are public API. Contract: 1; federation-wire-2.md 5. */
export const refusals = {
  validation_failed: { status: 400, text: 'Invalid input', fields: details },
  unauthorized: { status: 401, text: 'Unauthorized' },
  invalid_token: { status: 401, text: 'Invalid token' },
  token_revoked: { status: 401, text: 'Token has been revoked' },
  account_deleted: { status: 401, text: 'This account has been deleted' },
  admin_required: { status: 403, text: 'Admin access required' },
  second_factor_setup_required: {
    status: 403,
    text: 'This instance demands a second factor of its admins: set one up first',
  },
  statement_invalid: {
    status: 401,
    text: 'Send Authorization: Upstream and a statement for this instance, signed by the key that the file of upstreams names',
  },
  statement_stale: {
    status: 401,
    text: `The statement has expired, or its times are more than ${limits.upstreamLimits.askSeconds} seconds apart or from the clock of this instance`,
  },
  right_missing: { status: 403, text: 'The file of upstreams does not give you this right' },
  version_unknown: { status: 409, text: 'This instance has not given this version: begin again after 0' },
  forbidden: { status: 403, text: 'Forbidden' },
  not_found: { status: 404, text: 'Not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  body_too_large: { status: 413, text: 'Request body too large' },
  unsupported_media_type: { status: 415, text: 'Unsupported content type' },
  json_required: { status: 415, text: 'Send application/json' },
  form_required: { status: 415, text: 'Send multipart/form-data' },
  internal: { status: 500, text: 'Internal server error' },
  unavailable: { status: 503, text: 'Service temporarily unavailable, please try again' },

  malformed_request: { status: 400, text: 'The request is malformed' },
  request_timeout: { status: 408, text: 'Request Timeout' },
  upgrade_required: { status: 426, text: 'Upgrade Required' },
  /** The contract fixes this body, without a code. */
  rate_limited: {
    status: 429,
    text: 'Too Many Requests',
    fields: { message: z.literal('Rate limit exceeded'), retryAfter: z.number().int() },
  },
  headers_too_large: { status: 431, text: 'Request Header Fields Too Large' },
  bad_gateway: {
    status: 502,
    text: 'The service broke off. The request may have been carried out: check before you repeat it',
  },
  upgrade_broken: { status: 502, text: 'The service broke off' },
  upgrade_late: { status: 504, text: 'The service did not answer in time' },
  busy: { status: 503, text: 'Service temporarily unavailable, please try again' },
  restarting: { status: 503, text: 'The server is restarting, please try again' },
  too_many_connections: { status: 503, text: 'Too many connections, please try again' },
  too_many_uploads: { status: 503, text: 'Too many uploads are under way, please try again' },
  gateway_timeout: {
    status: 504,
    text: 'The service did not answer in time. The request may have been carried out: check before you repeat it',
  },

  username_required: {
    status: 400,
    text: 'username is required',
    fields: { details: inputFault.optional(), ...nameCheck },
  },
  password_required: { status: 400, text: 'Password is required', fields: { details: inputFault.optional() } },
  password_too_short: {
    status: 400,
    text: `Password must be at least ${limits.passwordMinCodePoints} characters`,
    fields: details,
  },
  username_confirmation_required: { status: 400, text: 'username is required', fields: details },
  display_name_too_long: {
    status: 400,
    text: `displayName must be at most ${limits.displayNameMax} characters`,
    fields: details,
  },
  bio_too_long: { status: 400, text: `bio must be at most ${limits.bioMax} characters`, fields: details },
  custom_status_too_long: {
    status: 400,
    text: `customStatus must be at most ${limits.customStatusMax} characters`,
    fields: details,
  },
  accent_color_invalid: { status: 400, text: 'accentColor must look like #rrggbb', fields: details },
  avatar_color_invalid: { status: 400, text: `avatarColor must be one of ${avatarColors.join(', ')}`, fields: details },
  avatar_url_invalid: { status: 400, text: 'avatar must be the filename of an upload', fields: details },
  banner_url_invalid: { status: 400, text: 'banner must be the filename of an upload', fields: details },
  home_instance_invalid: {
    status: 400,
    text: 'homeInstance must be a host name',
    fields: { details: inputFault.optional() },
  },
  target_domain_required: { status: 400, text: 'targetDomain is required', fields: details },

  username_length_invalid: localName,
  username_characters_invalid: localName,
  username_local_part_invalid: federatedName,
  username_domain_part_invalid: federatedName,
  username_too_long: federatedName,
  replicated_username_format_required: federatedName,
  home_instance_is_here: { status: 400, text: 'homeInstance is this instance: register a local account instead' },
  username_taken: { status: 409, text: 'Username already taken' },
  federated_account_exists: { status: 409, text: 'Username already taken: this account exists, log in instead' },
  invite_required: { status: 403, text: 'Registration is closed. An invite is required.' },
  invite_invalid: { status: 403, text: 'Invalid or expired invite' },
  registration_closed: { status: 403, text: 'Registration is currently closed', fields: nameCheck },
  federated_registration_closed: { status: 403, text: 'Federated registration is closed on this instance' },
  invalid_credentials: { status: 401, text: 'Invalid username or password' },
  account_suspended: {
    status: 403,
    text: 'This account is suspended',
    fields: { reason: z.string().nullable() },
  },
  second_factor_required: { status: 401, text: 'Enter the code of your second factor' },
  second_factor_wrong: { status: 401, text: 'This code is wrong, or it has been used' },
  /** Where the caller's token is right. */
  second_factor_incorrect: { status: 403, text: 'This code is wrong, or it has been used' },
  second_factor_blocked: {
    status: 429,
    text: 'Too many wrong codes: no code is taken for a while',
    fields: { retryAfter: z.number().int() },
  },
  second_factor_on: { status: 409, text: 'The second factor of this account is on: turn it off first' },
  second_factor_off: { status: 409, text: 'This account has no second factor' },
  second_factor_not_waiting: { status: 409, text: 'No second factor waits for its confirmation: begin anew' },
  second_factor_local_only: { status: 403, text: 'Your home instance asks for your second factor: set it up there' },
  second_factor_upgrading: {
    status: 503,
    text: 'This instance is being upgraded: a second factor can be turned on when that is complete',
  },
  home_second_factor: {
    status: 401,
    text: 'Your home instance asks for a second factor: log in there and connect this instance from there, or use the password that this instance knows',
  },
  passkeys_local_only: { status: 403, text: 'Your home instance keeps your passkeys: add one there' },
  passkey_challenge_invalid: { status: 400, text: 'This took too long, or it was used before: please try again' },
  passkey_response_invalid: { status: 400, text: 'This instance cannot use what your device answered' },
  passkey_rejected: { status: 401, text: 'This passkey opens no account here: it may have been removed' },
  passkey_cloned: { status: 401, text: 'There is a copy of this passkey: log in with your password and remove it' },
  passkey_known: { status: 409, text: 'This passkey was added before' },
  passkey_unknown: { status: 404, text: 'Passkey not found' },
  too_many_passkeys: { status: 409, text: `An account has at most ${limits.passkeysMax} passkeys: remove one first` },
  recovery_link_invalid: { status: 400, text: 'This link does not count any more: ask an admin for a new one' },
  current_password_required: { status: 400, text: 'Current password is required' },
  current_password_incorrect: { status: 403, text: 'Incorrect password' },
  password_incorrect: { status: 403, text: 'Incorrect password' },
  account_deletion_password_incorrect: { status: 403, text: 'Incorrect password' },
  password_changed_meanwhile: { status: 409, text: 'Your password has just been changed, please log in again' },
  username_confirmation_mismatch: { status: 400, text: 'Username does not match' },
  account_deletion_blocked_owned_spaces: {
    status: 400,
    text: 'You must transfer or delete the spaces you own first',
    fields: spaces,
  },
  profile_managed_by_home: { status: 403, text: 'Profile fields are managed by your home instance' },
  file_not_own: { status: 400, text: 'avatar and banner must name an upload of your own' },
  no_fields_to_update: { status: 400, text: 'Send at least one field' },
  identity_is_local: { status: 403, text: 'Only accounts of other instances have a homeUserId' },
  identity_fixed: { status: 409, text: 'This account has another homeUserId already' },
  identity_unconfirmed: { status: 403, text: 'Your home instance does not confirm this homeUserId' },
  identity_held: { status: 409, text: 'This identity belongs to another account' },
  registry_conflict: { status: 409, text: 'A newer list of connected instances is stored already' },
  origin_required: { status: 400, text: 'origin is required', fields: details },
  federation_credential_remote_only: { status: 400, text: 'Credentials are for accounts at other instances' },
  federation_credential_home_only: { status: 409, text: 'Credentials are issued by the home instance of the account' },
  too_many_federation_credentials: { status: 409, text: 'This account has credentials for too many instances' },
  native_account_required: { status: 403, text: 'Only accounts of this instance can prove themselves elsewhere' },
  target_domain_invalid: { status: 400, text: 'targetDomain must be the host name of another instance' },
  not_detached: { status: 403, text: 'This account is not detached from its home instance' },
  admin_stays_local: { status: 409, text: 'An admin must give up the role before the account can be bound elsewhere' },
  home_not_peered: { status: 409, text: 'Your home instance is no active peer of this one' },
  home_unreachable: { status: 502, text: 'Your home instance cannot be reached at the moment' },
  proof_invalid: { status: 401, text: 'Your home instance does not confirm this proof' },
  not_at_home: { status: 403, text: 'Identities on other instances are deleted by the home instance of the account' },
  file_missing: { status: 400, text: 'Send one image in the field "file"' },
  image_unreadable: { status: 400, text: 'The file is not a PNG, JPEG, WebP, GIF or AVIF image' },
  image_too_large: { status: 400, text: 'The image has more than 40 megapixels' },
  image_too_costly: {
    status: 400,
    text: 'The image takes too much memory to decode: make it smaller, or save it as JPEG',
  },
  too_many_unclaimed_uploads: {
    status: 409,
    text: 'Too many uploads that your profile does not use: use one of them, or try again tomorrow',
  },
  upload_unknown: { status: 404, text: 'File not found' },
  range_not_satisfiable: { status: 416, text: 'Range not satisfiable' },
  disk_full: { status: 503, text: 'Uploads are not taken at the moment: the disk is nearly full' },
  images_busy: { status: 503, text: 'Too many uploads at the moment, please try again' },
  export_under_way: { status: 409, text: 'An export of this account is under way' },
  exports_busy: { status: 503, text: 'Too many exports at the moment, please try again' },
  hashing_busy: { status: 503, text: 'Too many sign-ins at the moment, please try again' },

  invite_unknown: { status: 404, text: 'Invite not found' },
  expiry_past: { status: 400, text: 'expiresAt must be in the future' },
  invite_revoked: { status: 409, text: 'This invite is revoked' },
  invite_already_revoked: { status: 409, text: 'This invite is already revoked' },
  invite_active: { status: 409, text: 'This invite is already active' },
  max_uses_too_low: { status: 400, text: 'maxUses cannot be lower than the number of uses so far' },
  invite_still_ended: {
    status: 400,
    text: 'The invite would still not be usable: raise maxUses or move expiresAt into the future',
  },
  no_free_token: { status: 503, text: 'No invite token could be made, please try again' },

  user_unknown: { status: 404, text: 'User not found' },
  user_ambiguous: { status: 409, text: 'One account has this id and another one this name: write id:… or name:…' },
  target_deleted: { status: 400, text: 'This account has been deleted' },
  target_federated: { status: 400, text: 'Federated users authenticate via their home instance' },
  target_is_stub: { status: 400, text: 'This user has never signed in here' },
  federated_admin: { status: 403, text: 'A federated account cannot become an admin' },
  target_suspended: { status: 409, text: 'This account is suspended' },
  suspension_of_home: { status: 400, text: 'Accounts of other instances are suspended by their home instance' },
  own_suspension: { status: 409, text: 'You cannot suspend your own account' },
  last_admin_suspended: { status: 409, text: 'The last admin cannot be suspended' },
  own_account: { status: 400, text: 'Delete your own account in your settings' },
  last_admin_deleted: { status: 409, text: 'The last admin cannot be deleted' },
  last_admin: { status: 409, text: 'The last admin cannot step down' },

  signature_missing: { status: 401, text: 'A signed request needs well-formed X-Federation headers' },
  signature_headers_missing: { status: 400, text: 'The X-Federation headers are missing' },
  signature_wrong: { status: 401, text: 'The signature does not match the request' },
  signature_stale: { status: 401, text: 'The timestamp is too far from the clock of this instance' },
  peer_unknown: { status: 403, text: 'The origin is not an active peer of this instance' },
  source_mismatch: { status: 403, text: 'sourceInstance does not match the authenticated peer' },
  nonce_used: { status: 409, text: 'This nonce has been used before' },
  relay_busy: { status: 503, text: 'Another batch is being read at the moment, please send this one again' },
  body_too_slow: { status: 408, text: 'The body came too slowly' },
  body_encoded: { status: 415, text: 'Send the body without a content encoding' },
  foreign_identity: { status: 403, text: 'homeInstance is not the host of the signing instance' },
  owns_spaces: { status: 409, text: 'owns_spaces', fields: spaces },
  upstream_unavailable: {
    status: 503,
    text: 'A service that must first say whether spaces are owned there does not answer at the moment',
    fields: { upstream: z.string() },
  },
  user_not_found: { status: 404, text: 'No such user', fields: { found: z.literal(false) } },
  rotation_running: { status: 409, text: 'A rotation of the secret is under way' },
  origin_invalid: {
    status: 400,
    text: 'This is not the origin of an instance that can be reached, such as https://chat.example',
    fields: { details: inputFault.optional() },
  },
  origin_is_own: { status: 400, text: 'This is the origin of this instance itself' },
  offer_exists: {
    status: 409,
    text: 'The instances are peers already; revoke the peer to start over',
    fields: {
      accepted: z.literal(false),
      code: z.literal('PEER_EXISTS_RESET_REQUIRED'),
      instanceName: z.string(),
      instanceId: z.string(),
    },
  },
  peering_final: {
    status: 403,
    text: 'Peering with this instance requires an approval by its admin',
    fields: notAccepted,
  },
  origin_not_proven: {
    status: 403,
    text: 'The origin did not prove that it offered this secret',
    fields: notAccepted,
  },
  too_many_offers: { status: 503, text: 'Too many offers wait for their proof, please try again later' },
  peer_exists: { status: 409, text: 'The instances are peers already; revoke the peer to start over' },
  peer_needs_reset: { status: 409, text: 'The peer needs attention; reset it to start over' },
  peer_state: { status: 409, text: 'The peer is not in a state in which this can be done' },
  handshake_overtaken: { status: 409, text: 'The peer was changed meanwhile; look at it again' },
  request_decided: { status: 409, text: 'This request has been decided already' },
  too_many_peering_requests: { status: 409, text: 'Too many requests wait for the admin of this instance' },
  remote_unresolved: { status: 400, text: 'No host has this name; check the address' },
  remote_unreachable: { status: 503, text: 'The other instance cannot be reached at the moment' },
  remote_refused: {
    status: 409,
    text: 'The other instance refused',
    fields: { code: z.literal('PEER_EXISTS_RESET_REQUIRED').optional(), answer: z.string() },
  },
  rotation_refused: { status: 409, text: 'The other instance did not take the new secret' },
  remote_unproven: { status: 409, text: 'The other instance did not prove that it holds the secret' },
  remote_clock: { status: 409, text: 'The clocks of the two instances are more than 15 minutes apart' },
} as const satisfies Record<string, { status: number; text: string; fields?: z.ZodRawShape }>

export type RefusalCode = keyof typeof refusals
type FieldsOf<Declared> = Declared extends { fields: infer Shape extends z.ZodRawShape }
  ? z.input<z.ZodObject<Shape>>
  : unknown
export type RefusalFields<Code extends RefusalCode> = FieldsOf<(typeof refusals)[Code]>

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
  origin: 'origin_invalid',
}
export type FaultCode = {
  [Code in RefusalCode]: (typeof refusals)[Code] extends { fields: { details: unknown } } ? Code : never
}[RefusalCode]
