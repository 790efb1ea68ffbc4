import { pictureFields, type ProfileBody } from '@gatehouse/contracts'
import { FileRemoval, Upload, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '@gatehouse/runtime'

type ReferenceUpdate = {
  /** Locked and unchanged. */
  user: User
  changes: Pick<ProfileBody, (typeof pictureFields)[number]>
  now: Date
}

/** Returns how many files are recorded for removal. Throws file_not_own. Contract: 3, PATCH and uploads. */
export async function updateUploadReferences(
  em: EntityManager,
  { user, changes, now }: ReferenceUpdate,
): Promise<number> {
  const before = pictureFields.map((field) => user[field])
  const after = pictureFields.map((field) => (changes[field] === undefined ? user[field] : changes[field]))
  const isFilename = (name: string | null | undefined): name is string => Boolean(name)
  const added = new Set(after.filter(isFilename).filter((name) => !before.includes(name)))
  const removed = new Set(before.filter(isFilename).filter((name) => !after.includes(name)))
  for (const filename of added) await claimUpload(em, { filename, userId: user.id, now })
  for (const filename of removed) await releaseUpload(em, { filename, userId: user.id, now })
  return removed.size
}

type OwnUpload = { filename: string; userId: string; now: Date }

/** The cleanup deletes by one statement too: whichever commits first decides. */
async function claimUpload(em: EntityManager, { filename, userId, now }: OwnUpload): Promise<void> {
  const claimed = await em.nativeUpdate(Upload, { filename, userId }, { claimedAt: now })
  if (claimed !== 1) throw refuse.file_not_own()
}

async function releaseUpload(em: EntityManager, { filename, userId, now }: OwnUpload): Promise<void> {
  await em.nativeDelete(Upload, { filename, userId })
  await em.insert(FileRemoval, { filename, createdAt: now })
}
