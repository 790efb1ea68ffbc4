import { defineErrors } from '@gatehouse/runtime'

/** Every refusal of this service beside the common ones. Contract: 7. */
export const refuse = defineErrors({
  signature_missing: { status: 401, message: 'A signed request needs well-formed X-Federation headers' },
  signature_headers_missing: { status: 400, message: 'The X-Federation headers are missing' },
  signature_wrong: { status: 401, message: 'The signature does not match the request' },
  signature_stale: { status: 401, message: 'The timestamp is too far from the clock of this instance' },
  peer_unknown: { status: 403, message: 'The origin is not an active peer of this instance' },
  nonce_used: { status: 409, message: 'This nonce has been used before' },
  peer_limit: { status: 429, message: 'Too Many Requests' },
  relay_busy: { status: 503, message: 'Another batch is being read at the moment, please send this one again' },
  body_too_slow: { status: 408, message: 'The body came too slowly' },
  foreign_identity: { status: 403, message: 'homeInstance is not the host of the signing instance' },
  owns_spaces: { status: 409, message: 'owns_spaces' },
  user_not_found: { status: 404, message: 'No such user' },
  rotation_running: { status: 409, message: 'A rotation of the secret is under way' },
  origin_invalid: {
    status: 400,
    message: 'This is not the origin of an instance that can be reached, such as https://chat.example',
  },
  origin_is_own: { status: 400, message: 'This is the origin of this instance itself' },
  peer_exists: { status: 409, message: 'The instances are peers already; revoke the peer to start over' },
  peer_needs_reset: { status: 409, message: 'The peer needs attention; reset it to start over' },
  peer_state: { status: 409, message: 'The peer is not in a state in which this can be done' },
  handshake_overtaken: { status: 409, message: 'The peer was changed meanwhile; look at it again' },
  peering_final: { status: 403, message: 'Peering with this instance requires an approval by its admin' },
  origin_not_proven: { status: 403, message: 'The origin did not prove that it offered this secret' },
  too_many_offers: { status: 503, message: 'Too many offers wait for their proof, please try again later' },
  too_many_requests: { status: 409, message: 'Too many requests wait for the admin of this instance' },
  remote_unreachable: { status: 503, message: 'The other instance cannot be reached at the moment' },
  remote_refused: { status: 409, message: 'The other instance refused' },
  remote_unproven: { status: 409, message: 'The other instance did not prove that it holds the secret' },
  remote_clock: { status: 409, message: 'The clocks of the two instances are more than 15 minutes apart' },
  request_decided: { status: 409, message: 'This request has been decided already' },
  not_at_home: {
    status: 403,
    message: 'Identities on other instances are deleted by the home instance of the account',
  },
})

/** The codes that existing instances read. federation-wire.md 2.2, 2.3. */
export const wireCodes = {
  existing: 'PEER_EXISTS_RESET_REQUIRED',
  approvalRequired: 'PEERING_REQUIRES_APPROVAL',
} as const
