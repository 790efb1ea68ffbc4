import { isStorableText, type checkInviteReply } from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { Invite } from '@gatehouse/domain'
import { deriveInviteStatus } from '@gatehouse/invites'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'

const readByToken = batchedRead({
  name: 'invite_by_token',
  entity: Invite,
  properties: ['token', 'name', 'revokedAt', 'expiresAt', 'usedCount', 'maxUses'],
  key: 'token',
})

/** Only a usable invite tells its name. Spec: check-invite; Contract: 3, check-invite. */
export async function checkInvite(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  token: unknown,
): Promise<z.infer<typeof checkInviteReply>> {
  if (typeof token !== 'string' || !isStorableText(token)) return { valid: false, reason: 'invalid' }
  const invite = await readByToken(orm.em, token)
  const status = invite && deriveInviteStatus(invite, clock.now())
  if (!status || status === 'revoked') return { valid: false, reason: 'invalid' }
  if (status !== 'active') return { valid: false, reason: status }
  return { valid: true, name: invite.name }
}
