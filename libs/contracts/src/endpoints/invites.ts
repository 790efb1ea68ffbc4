import * as invites from '../invites.ts'
import { success } from '../users.ts'
import { created, endpoint, ok, type Declarations } from './declaration.ts'

/** The endpoints of invites. Contract: 4, as a whole. */
export const inviteDeclarations = {
  createInvite: endpoint('Create an invite link', created(invites.inviteReply), {
    body: invites.createInviteBody,
    refusals: ['expiry_past', 'no_free_token'],
  }),
  listInvites: endpoint('Invite links, newest first', ok(invites.invitesReply), { query: invites.listInvitesQuery }),
  patchInvite: endpoint('Change an invite link', ok(invites.inviteReply), {
    body: invites.patchInviteBody,
    refusals: ['invite_unknown', 'invite_revoked', 'max_uses_too_low'],
  }),
  revokeInvite: endpoint('Revoke an invite link', ok(invites.oneInviteReply), {
    refusals: ['invite_unknown', 'invite_already_revoked'],
  }),
  reinstateInvite: endpoint('Make an ended invite link usable again', ok(invites.reinstateReply), {
    body: invites.reinstateInviteBody,
    refusals: ['invite_unknown', 'invite_active', 'invite_still_ended', 'no_free_token'],
  }),
  deleteInvite: endpoint('Delete an invite link and its redemptions', success, { refusals: ['invite_unknown'] }),
  listRedemptions: endpoint('The registrations that used an invite link, newest first', ok(invites.redemptionsReply), {
    query: invites.pageQuery,
    refusals: ['invite_unknown'],
  }),
  createOwnInvite: endpoint('Create an invite link as a member', created(invites.inviteReply), {
    body: invites.createOwnInviteBody,
    refusals: [
      'member_invites_off',
      'member_invites_spent',
      'native_account_required',
      'expiry_past',
      'expiry_too_late',
      'no_free_token',
    ] as const,
  }),
  listOwnInvites: endpoint('Own invite links as a member, newest first', ok(invites.ownInvitesReply), {
    query: invites.listInvitesQuery,
  }),
  revokeOwnInvite: endpoint('Revoke an own invite link', ok(invites.oneInviteReply), {
    refusals: ['invite_unknown', 'invite_already_revoked'],
  }),
} satisfies Declarations
