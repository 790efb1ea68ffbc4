export { activeInvites, deriveInviteStatus } from './derive-invite-status.ts'
export { findInvite } from './find-invite.ts'
export { inviteUnavailable, redeemInvite } from './redeem-invite.ts'
