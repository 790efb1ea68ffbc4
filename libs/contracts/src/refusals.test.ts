import { expect } from 'chai'
import { endpoints, refusalsOf } from './endpoints/endpoints.ts'
import type { Endpoint, RefusalCodeOf } from './endpoints/endpoints.ts'
import { refusals } from './refusals.ts'

describe('The refusals', () => {
  it('have the codes and statuses that clients know', () => {
    const stated = Object.entries(refusals).map(([code, { status }]) => `${code} ${status}`)

    expect(stated).to.have.members([
      'accent_color_invalid 400',
      'account_deleted 401',
      'account_deletion_blocked_owned_spaces 400',
      'account_deletion_password_incorrect 403',
      'account_suspended 403',
      'account_suspended_by_home 403',
      'admin_required 403',
      'second_factor_setup_required 403',
      'passkeys_local_only 403',
      'passkey_challenge_invalid 400',
      'passkey_response_invalid 400',
      'passkey_rejected 401',
      'passkey_cloned 401',
      'passkey_known 409',
      'passkey_unknown 404',
      'too_many_passkeys 409',
      'admin_stays_local 409',
      'avatar_color_invalid 400',
      'avatar_url_invalid 400',
      'bad_gateway 502',
      'banner_url_invalid 400',
      'bio_too_long 400',
      'body_encoded 415',
      'body_too_large 413',
      'body_too_slow 408',
      'busy 503',
      'current_password_incorrect 403',
      'current_password_required 400',
      'custom_status_too_long 400',
      'disk_full 503',
      'display_name_too_long 400',
      'expiry_past 400',
      'export_under_way 409',
      'exports_busy 503',
      'federated_account_exists 409',
      'federated_admin 403',
      'federated_registration_closed 403',
      'federation_credential_home_only 409',
      'federation_credential_remote_only 400',
      'file_missing 400',
      'file_not_own 400',
      'forbidden 403',
      'foreign_identity 403',
      'form_required 415',
      'gateway_timeout 504',
      'handshake_overtaken 409',
      'hashing_busy 503',
      'headers_too_large 431',
      'home_instance_invalid 400',
      'home_instance_is_here 400',
      'home_not_peered 409',
      'home_unreachable 502',
      'identity_fixed 409',
      'identity_held 409',
      'identity_is_local 403',
      'identity_unconfirmed 403',
      'image_too_costly 400',
      'image_too_large 400',
      'image_unreadable 400',
      'images_busy 503',
      'internal 500',
      'invalid_credentials 401',
      'second_factor_required 401',
      'second_factor_wrong 401',
      'second_factor_incorrect 403',
      'second_factor_blocked 429',
      'second_factor_on 409',
      'second_factor_off 409',
      'second_factor_not_waiting 409',
      'second_factor_local_only 403',
      'second_factor_upgrading 503',
      'home_second_factor 401',
      'invalid_token 401',
      'invite_active 409',
      'invite_already_revoked 409',
      'invite_invalid 403',
      'invite_required 403',
      'invite_revoked 409',
      'invite_still_ended 400',
      'invite_unknown 404',
      'json_required 415',
      'last_admin 409',
      'last_admin_deleted 409',
      'last_admin_suspended 409',
      'malformed_request 400',
      'max_uses_too_low 400',
      'method_not_allowed 405',
      'native_account_required 403',
      'no_fields_to_update 400',
      'no_free_token 503',
      'nonce_used 409',
      'not_at_home 403',
      'not_detached 403',
      'not_found 404',
      'offer_exists 409',
      'origin_invalid 400',
      'origin_is_own 400',
      'origin_required 400',
      'origin_not_proven 403',
      'own_account 400',
      'own_suspension 409',
      'owns_spaces 409',
      'password_changed_meanwhile 409',
      'renewal_off 403',
      'renewal_too_early 409',
      'password_incorrect 403',
      'password_required 400',
      'password_too_short 400',
      'peer_exists 409',
      'peer_needs_reset 409',
      'peer_state 409',
      'peer_unknown 403',
      'peering_final 403',
      'profile_managed_by_home 403',
      'proof_invalid 401',
      'range_not_satisfiable 416',
      'rate_limited 429',
      'recovery_link_invalid 400',
      'registration_closed 403',
      'registry_conflict 409',
      'relay_busy 503',
      'remote_clock 409',
      'remote_refused 409',
      'remote_unproven 409',
      'remote_unresolved 400',
      'remote_unreachable 503',
      'replicated_username_format_required 400',
      'request_decided 409',
      'request_timeout 408',
      'restarting 503',
      'rotation_refused 409',
      'rotation_running 409',
      'signature_headers_missing 400',
      'signature_missing 401',
      'signature_stale 401',
      'signature_wrong 401',
      'source_mismatch 403',
      'suspension_of_home 400',
      'target_deleted 400',
      'target_domain_invalid 400',
      'target_domain_required 400',
      'target_federated 400',
      'target_is_stub 400',
      'target_suspended 409',
      'statement_invalid 401',
      'statement_stale 401',
      'right_missing 403',
      'version_unknown 409',
      'token_revoked 401',
      'too_many_connections 503',
      'too_many_federation_credentials 409',
      'too_many_offers 503',
      'too_many_peering_requests 409',
      'too_many_unclaimed_uploads 409',
      'too_many_uploads 503',
      'unauthorized 401',
      'unavailable 503',
      'unsupported_media_type 415',
      'upgrade_broken 502',
      'upgrade_late 504',
      'upgrade_required 426',
      'upload_unknown 404',
      'upstream_unavailable 503',
      'user_ambiguous 409',
      'user_not_found 404',
      'user_unknown 404',
      'username_characters_invalid 400',
      'username_confirmation_mismatch 400',
      'username_confirmation_required 400',
      'username_domain_part_invalid 400',
      'username_length_invalid 400',
      'username_local_part_invalid 400',
      'username_required 400',
      'username_taken 409',
      'username_too_long 400',
      'validation_failed 400',
    ])
  })

  it('have codes in snake_case and statuses of errors', () => {
    for (const [code, { status }] of Object.entries(refusals)) {
      expect(code).to.match(/^[a-z]+(_[a-z]+)*$/)
      expect(status, code).to.be.within(400, 504)
    }
  })

  it('of an endpoint are its own and those of its kind', () => {
    const login: RefusalCodeOf<'login'>[] = [
      'invalid_credentials',
      'account_deleted',
      'rate_limited',
      'validation_failed',
    ]
    // @ts-expect-error -- nobody needs a token to log in
    const other: RefusalCodeOf<'login'> = 'admin_required'

    expect([...refusalsOf(endpoints.login)])
      .to.include.members(login)
      .and.not.include(other)
    expect([...refusalsOf(endpoints.createInvite)]).to.include.members([
      'token_revoked',
      'admin_required',
      'expiry_past',
    ])
    expect([...refusalsOf(endpoints.epoch)]).to.include.members(['signature_wrong', 'signature_headers_missing'])
    expect([...refusalsOf(endpoints.upload)])
      .to.include.members(['body_too_large', 'form_required'])
      .and.not.include.members(['json_required'])
      .and.not.include.members(['unsupported_media_type'])
  })

  it('are each given by an endpoint, or outside the endpoints', () => {
    const outside = ['method_not_allowed', 'forbidden', 'malformed_request', 'request_timeout', 'upgrade_required']
    outside.push('headers_too_large', 'upgrade_broken', 'upgrade_late', 'restarting', 'user_ambiguous')
    const given = Object.values<Endpoint>(endpoints).flatMap((endpoint) => [...refusalsOf(endpoint)])

    expect([...new Set([...given, ...outside])]).to.have.members(Object.keys(refusals))
  })
})
