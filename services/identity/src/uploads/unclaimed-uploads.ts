import { limits } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '@gatehouse/runtime'

type NewUpload = { userId: string; size: number }

/** Decides only when the account is locked. Throws too_many_unclaimed_uploads. Contract: 3, uploads. */
export async function refuseBeyondUnclaimed(em: EntityManager, { userId, size }: NewUpload): Promise<void> {
  const [unclaimed = { files: 0, bytes: 0 }] = await read<{ files: number; bytes: number }>(
    em,
    `select count(*)::int as files, coalesce(sum(size), 0)::int as bytes
     from uploads where user_id = ? and claimed_at is null`,
    [userId],
  )
  const { files, bytes } = unclaimed
  if (files >= limits.unclaimedUploadsMax || bytes + size > limits.unclaimedUploadBytesMax) {
    throw refuse.too_many_unclaimed_uploads()
  }
}
