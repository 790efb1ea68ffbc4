import { inviteCreated, type createInviteBody } from '@gatehouse/contracts'
import { Invite, nextId, type ActingAdmin } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { ChangeDeps } from '../deps.ts'
import { actAsAdmin, recordInviteChange, withFreshToken } from './change-invite.ts'

type Input = z.infer<typeof createInviteBody> & { admin: ActingAdmin; requestId?: string | undefined }

/** Throws expiry_past, no_free_token. Contract: 4. */
export async function createInvite(deps: ChangeDeps, input: Input): Promise<Invite> {
  const { admin, name, maxUses, expiresAt, requestId } = input
  const now = deps.clock.now()
  if (expiresAt !== null && expiresAt <= now) throw refuse.expiry_past()
  const times = { expiresAt: expiresAt === null ? null : new Date(expiresAt), createdAt: new Date(now) }
  const created = await withFreshToken(deps, async (token) => {
    return await actAsAdmin(deps, admin, async (em) => {
      const id = await nextId(em)
      const invite = em.create(Invite, { id, token, name, maxUses, createdBy: admin.userId, ...times })
      em.persist(invite)
      const detail = { name, maxUses, expiresAt }
      const record = { event: inviteCreated, action: 'invite.created' as const, detail, invite, admin, requestId }
      await recordInviteChange(em, deps, record)
      return invite
    })
  })
  deps.relay.notify()
  return created
}
