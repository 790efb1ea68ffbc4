import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

type Anonymous = {
  /** A text that no password fits. */
  passwordHash: string
  /** Milliseconds since the epoch. */
  now: number
}

/** Records every file of the user for removal: avatar, banner and uploads that no profile named. Spec: Tombstone. */
export async function releaseUserFiles(em: EntityManager, userId: string): Promise<void> {
  await changeRows(
    em,
    `with gone as (delete from uploads where user_id = ? returning filename)
     insert into file_removals (filename)
     select filename from gone
     union select avatar from users where id = ? and avatar is not null
     union select banner from users where id = ? and banner is not null`,
    [userId, userId, userId],
  )
}

/** Turns the row into a tombstone, which frees the name and kills every token. Spec: Tombstone, the user row. */
export async function anonymizeUser(
  em: EntityManager,
  userId: string,
  { passwordHash, now }: Anonymous,
): Promise<void> {
  await changeRows(
    em,
    `update users set
       username = '!deleted:' || id, password_hash = ?, display_name = null, avatar = null, banner = null, bio = null,
       custom_status = null, accent_color = null, avatar_color = null, replicated_instances = '[]', is_deleted = true,
       status = 'offline', is_admin = false, discoverable = false, sessions_ended_at = ?,
       state_version = state_version + 1
     where id = ?`,
    [passwordHash, now, userId],
  )
}
