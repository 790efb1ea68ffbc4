import { pictureFields, type ProfileBody } from '@gatehouse/contracts'
import { FileRemoval, Upload, type ActingAdmin, type InstanceSettings, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { invalidInput, refuse } from '@gatehouse/runtime'

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

type LogoChange = { settings: InstanceSettings; logo: string | null; actor: ActingAdmin; now: Date }

/**
 * The upload becomes the instance's, so that it stays when the account goes. Returns how many files are recorded for
 * removal. Throws invalid_input. Contract: 5, Settings.
 */
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

type OwnUpload = { filename: string; userId: string; now: Date }

/** The cleanup deletes by one statement too: whichever commits first decides. */
async function claimUpload(em: EntityManager, { filename, userId, now }: OwnUpload): Promise<void> {
  const claimed = await em.nativeUpdate(Upload, { filename, userId }, { claimedAt: now })
  if (claimed !== 1) throw refuse.file_not_own()
}

type ReleasedUpload = { filename: string; userId: string | null; now: Date }

async function releaseUpload(em: EntityManager, { filename, userId, now }: ReleasedUpload): Promise<void> {
  await em.nativeDelete(Upload, { filename, userId })
  await em.insert(FileRemoval, { filename, createdAt: now })
}
