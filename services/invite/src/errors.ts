import { defineErrors } from '@gatehouse/runtime'

/** Every refusal of this service beside the common ones. The messages are public API. */
export const refuse = defineErrors({
  invite_unknown: { status: 404, message: 'Invite not found' },
  expiry_past: { status: 400, message: 'expiresAt must be in the future' },
  invite_revoked: { status: 409, message: 'This invite is revoked' },
  invite_active: { status: 409, message: 'This invite is already active' },
  max_uses_too_low: { status: 400, message: 'maxUses cannot be lower than the number of uses so far' },
  invite_still_ended: {
    status: 400,
    message: 'The invite would still not be usable: raise maxUses or move expiresAt into the future',
  },
  no_free_token: { status: 503, message: 'No invite token could be made, please try again' },
})
