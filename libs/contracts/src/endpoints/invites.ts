import type { EndpointDeclaration } from '../define.ts'
import * as invites from '../invites.ts'
import { idParams } from '../text.ts'
import { successReply } from '../users.ts'
import type { EndpointName } from './table.ts'

/** Contract: 4. */
export const inviteDeclarations = {
  createInvite: {
    summary: 'Create an invite link',
    body: invites.createInviteBody,
    replies: { 201: invites.inviteReply },
    refusals: ['expiry_past', 'no_free_token'],
  },
  listInvites: {
    summary: 'Invite links, newest first',
    query: invites.listInvitesQuery,
    replies: { 200: invites.invitesReply },
  },
  patchInvite: {
    summary: 'Change an invite link',
    params: idParams,
    body: invites.patchInviteBody,
    replies: { 200: invites.inviteReply },
    refusals: ['invite_unknown', 'invite_revoked', 'max_uses_too_low'],
  },
  revokeInvite: {
    summary: 'Revoke an invite link',
    params: idParams,
    replies: { 200: invites.oneInviteReply },
    refusals: ['invite_unknown', 'invite_already_revoked'],
  },
  reinstateInvite: {
    summary: 'Make an ended invite link usable again',
    params: idParams,
    body: invites.reinstateInviteBody,
    replies: { 200: invites.reinstateReply },
    refusals: ['invite_unknown', 'invite_active', 'invite_still_ended', 'max_uses_too_low', 'no_free_token'],
  },
  deleteInvite: {
    summary: 'Delete an invite link and its redemptions',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['invite_unknown'],
  },
  listRedemptions: {
    summary: 'The registrations that used an invite link, newest first',
    params: idParams,
    query: invites.pageQuery,
    replies: { 200: invites.redemptionsReply },
    refusals: ['invite_unknown'],
  },
} as const satisfies Partial<Record<EndpointName, EndpointDeclaration>>
