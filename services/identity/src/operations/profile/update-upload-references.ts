import type { ActingAdmin } from '@gatehouse/authority'
import { pictureFields, type ProfileBody } from '@gatehouse/contracts'
import { FileRemoval, Upload, type InstanceSettings, type User } from '@gatehouse/domain'
import { invalidInput, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'

type ReferenceUpdate = {
  /** Locked and unchanged. */
  user: User
  changes: Pick<ProfileBody, (typeof pictureFields)[number]>
  now: Date
}

/** Returns how many files are recorded for removal. Throws file_not_own. Contract: 3, PATCH and uploads. */
export async function updateUploadReferences(em: EntityManager, { user, changes, now }: ReferenceUpdate) {
  const isFilename = (name: string | null | undefined): name is string => Boolean(name)
  const before = new Set(pictureFields.map((field) => user[field]).filter(isFilename))
  const filenames = pictureFields.map((field) => (changes[field] === undefined ? user[field] : changes[field]))
  const after = new Set(filenames.filter(isFilename))
  for (const filename of after) {
    if (before.has(filename)) continue
    // The cleanup deletes by one statement too: whichever commits first decides.
    const claimed = await em.nativeUpdate(Upload, { filename, userId: user.id }, { claimedAt: now })
    if (claimed !== 1) throw refuse.file_not_own()
  }
  const removed = [...before].filter((filename) => !after.has(filename))
  for (const filename of removed) await releaseUpload(em, { filename, userId: user.id, now })
  return removed.length
}

type LogoChange = { settings: InstanceSettings; logo: string | null; actor: ActingAdmin; now: Date }

/** The upload becomes the instance's: it outlives the account. Returns how many files go. Contract: 5, Settings. */
export async function replaceLogo(em: EntityManager, { settings, logo, actor, now }: LogoChange): Promise<number> {
  const before = settings.logo ?? null
  if (logo === before) return 0
  if (logo) {
    const own = { filename: logo, userId: 'userId' in actor ? actor.userId : '0', claimedAt: null }
    const claimed = await em.nativeUpdate(Upload, own, { userId: null, claimedAt: now })
    if (claimed !== 1) {
      throw invalidInput({ field: 'logo', reason: 'invalid' }, { text: 'logo must name an upload of your own' })
    }
  }
  if (!before) return 0
  await releaseUpload(em, { filename: before, userId: null, now })
  return 1
}

type ReleasedUpload = { filename: string; userId: string | null; now: Date }

async function releaseUpload(em: EntityManager, { filename, userId, now }: ReleasedUpload): Promise<void> {
  await em.nativeDelete(Upload, { filename, userId })
  await em.insert(FileRemoval, { filename, createdAt: now })
}
