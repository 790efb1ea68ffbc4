import type { createInviteBody } from '@gatehouse/contracts'
import { Invite, nextId, recordAudit } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { withFreshToken } from './with-fresh-token.ts'
import type { Admin } from './admin.ts'

type Input = z.infer<typeof createInviteBody> & { admin: Admin }

/** Makes an invite link with a token of its own. Throws expiry_past, no_free_token. Contract: 4. */
export async function createInvite(deps: Pick<Deps, 'orm' | 'clock' | 'random'>, input: Input): Promise<Invite> {
  const now = deps.clock.now()
  const { admin, name, maxUses, expiresAt } = input
  if (expiresAt !== null && expiresAt <= now) throw refuse.expiry_past()

  return await withFreshToken(deps, async (token) => {
    return await deps.orm.em.fork().transactional(async (em) => {
      const invite = em.create(Invite, {
        id: await nextId(em),
        token,
        name,
        maxUses,
        expiresAt: expiresAt === null ? null : new Date(expiresAt),
        createdBy: admin.userId,
        createdAt: new Date(now),
      })
      em.persist(invite)
      recordAudit(em, {
        action: 'invite.created',
        actor: admin,
        target: { type: 'invite', id: invite.id },
        detail: { name, maxUses, expiresAt },
        at: new Date(now),
      })
      return invite
    })
  })
}
