import { inviteCreated, type createInviteBody } from '@gatehouse/contracts'
import { Invite, nextId, type ActingAdmin } from '@gatehouse/domain'
import type { z } from 'zod'
import type { ChangeDeps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { withFreshToken } from './fresh-token.ts'
import { actAsAdmin, recordInviteChange } from './invite-change.ts'

type Input = z.infer<typeof createInviteBody> & { admin: ActingAdmin }

/** Makes an invite link with a token of its own. Throws expiry_past, no_free_token. Contract: 4. */
export async function createInvite(deps: ChangeDeps, input: Input): Promise<Invite> {
  const { admin, name, maxUses, expiresAt } = input
  const now = deps.clock.now()
  if (expiresAt !== null && expiresAt <= now) throw refuse.expiry_past()

  const created = await withFreshToken(deps, async (token) => {
    return await actAsAdmin(deps, admin, async (em) => {
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
      const detail = { name, maxUses, expiresAt }
      await recordInviteChange(em, deps, { event: inviteCreated, action: 'invite.created', detail, invite, admin })
      return invite
    })
  })
  deps.relay.notify()
  return created
}
