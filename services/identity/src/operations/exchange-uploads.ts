import type { ProfileBody } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '../errors.ts'

type Exchange = {
  user: User
  changes: Pick<ProfileBody, 'avatar' | 'banner'>
  /** Milliseconds since the epoch. */
  now: number
}

/**
 * Claims the uploads that a profile names from now on and records those it no longer names for removal, in the
 * transaction of `em`. The user is locked. Gives how many go. Throws file_not_own. Contract: 3, PATCH and uploads.
 */
export async function exchangeUploads(em: EntityManager, { user, changes, now }: Exchange): Promise<number> {
  const before = [user.avatar, user.banner]
  const after = [changes.avatar, changes.banner].map((name, index) => (name === undefined ? before[index] : name))
  const taken = new Set(after.filter((name) => name && !before.includes(name)))
  const left = new Set(before.filter((name) => name && !after.includes(name)))
  for (const filename of taken) await claim(em, { userId: user.id, filename: filename!, now })
  for (const filename of left) await release(em, { userId: user.id, filename: filename! })
  return left.size
}

/** One step with the sweep's deletion of what nobody claimed: whichever comes first decides. */
async function claim(em: EntityManager, upload: { userId: string; filename: string; now: number }): Promise<void> {
  const claimed = await changeRows(em, 'update uploads set claimed_at = ? where filename = ? and user_id = ?', [
    new Date(upload.now),
    upload.filename,
    upload.userId,
  ])
  if (claimed !== 1) throw refuse.file_not_own()
}

async function release(em: EntityManager, { userId, filename }: { userId: string; filename: string }): Promise<void> {
  await changeRows(em, 'delete from uploads where filename = ? and user_id = ?', [filename, userId])
  await changeRows(em, 'insert into file_removals (filename) values (?)', [filename])
}
