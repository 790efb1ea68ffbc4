import { isStorableText, type checkInviteReply } from '@gatehouse/contracts'
import { findInvite } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'

/**
 * Whether a link can still be used. Whatever is no token is answered like an unknown or a revoked one, and only a usable
 * one tells its name. The redemption decides for good. Spec: check-invite; Contract: 3, check-invite.
 */
export async function checkInvite(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  token: unknown,
): Promise<z.infer<typeof checkInviteReply>> {
  if (typeof token !== 'string' || !isStorableText(token)) return { valid: false, reason: 'invalid' }
  const found = await findInvite(orm.em.fork(), { token, now: clock.now() })
  if (!found || found.status === 'revoked') return { valid: false, reason: 'invalid' }
  if (found.status !== 'active') return { valid: false, reason: found.status }
  return { valid: true, name: found.invite.name }
}
