import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { limits, type pictureFields } from '@gatehouse/contracts'
import { Upload, type User } from '@gatehouse/domain'
import type { Outbound } from '@gatehouse/outbound'
import { createFairQueue } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AfterCommit } from '../../after-commit.ts'
import type { IdentityConfig } from '../../config.ts'
import { policy } from '../../policy.ts'
import type { ImageConverter } from '../../uploads/image-converter.ts'
import type { UploadCleanup } from '../../uploads/upload-cleanup.ts'
import { storeImage, type StoredImage } from '../../uploads/store-image.ts'
import { tempUploadDir } from '../../uploads/upload-files.ts'
import type { UploadStore } from '../../uploads/upload-store.ts'
import { changeUser, recordProfileChange } from '../change-account.ts'
import { updateUploadReferences } from '../profile/update-upload-references.ts'

export type RemotePicture = {
  /** As it was when its profile was applied. */
  user: Pick<User, 'id' | 'profileUpdatedAt'>
  field: (typeof pictureFields)[number]
  url: string
  /** Pictures of other origins are not fetched. */
  origin: string
}

export type RemotePictures = AsyncDisposable & {
  /** A later one of the same field takes its place. Beyond the queue it is left out. */
  fetchLater(picture: RemotePicture): void
  idle(): Promise<void>
}

type PictureDeps = Pick<Resources, 'orm' | 'clock' | 'random' | 'log'> & {
  outbound: Outbound
  images: ImageConverter
  uploadStore: UploadStore
  config: Pick<IdentityConfig, 'uploadDir'>
  afterCommit: Pick<AfterCommit, 'publishEvents'>
  uploadCleanup: Pick<UploadCleanup, 'removeRecordedFiles'>
  freeDiskBytes: (folder: string) => Promise<number>
}

/**
 * Origins take turns, one picture at a time each: a slow home delays only its own. A picture that is lost comes with the
 * next report of the same profile. federation-wire.md 3.
 */
export function createRemotePictures(deps: PictureDeps): RemotePictures {
  const limits = { capacity: policy.remotePictureQueue, perSource: policy.remotePicturesPerOrigin }
  const turns = createFairQueue<string>(limits)
  const waiting = new Map<string, RemotePicture>()
  const running = new Map<string, Promise<void>>()
  const ending = new AbortController()

  function startNext(): void {
    while (running.size < policy.remotePicturesAtOnce && !ending.signal.aborted) {
      const key = turns.take((origin) => !running.has(origin))
      const picture = key === undefined ? undefined : waiting.get(key)
      if (key === undefined || !picture) return
      waiting.delete(key)
      const finish = () => {
        running.delete(picture.origin)
        startNext()
      }
      running.set(picture.origin, fetchNow(picture).finally(finish))
    }
  }

  async function fetchNow(picture: RemotePicture): Promise<void> {
    const { user, field, url } = picture
    await takePicture(deps, picture, ending.signal).catch((error: unknown) => {
      deps.log.warn({ err: error, userId: user.id, field, host: URL.parse(url)?.host }, 'remote picture not taken')
    })
  }

  return {
    fetchLater: (picture) => {
      const { origin, user, field } = picture
      const key = `${origin} ${user.id} ${field}`
      if (waiting.has(key) || turns.push(origin, key)) waiting.set(key, picture)
      startNext()
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running.values())
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort()
      await Promise.all(running.values())
    },
  }
}

async function takePicture(deps: PictureDeps, picture: RemotePicture, signal: AbortSignal): Promise<void> {
  const { url, origin, user, field } = picture
  if (URL.parse(url)?.origin !== origin) throw new Error('the picture is not of its home')
  const free = await deps.freeDiskBytes(deps.config.uploadDir)
  if (free < policy.uploadFreeBytesMin) throw new Error('the disk is nearly full')
  const timeoutMs = policy.remotePictureTimeoutMs
  const request = { method: 'GET', url, timeoutMs, maxBytes: limits.uploadBytes, signal }
  const { status, headers, body } = await deps.outbound.request(request)
  if (status !== 200 || !headers['content-type']?.startsWith('image/')) throw new Error(`no image: status ${status}`)
  const filename = await storePicture(deps, user.id, body)
  const used = await changeUser(deps, user.id, (locked, em) => usePicture(deps, em, { locked, picture, filename }))
  deps.log.debug({ userId: user.id, field, used }, 'remote picture fetched')
  deps.afterCommit.publishEvents()
  if (used) await deps.uploadCleanup.removeRecordedFiles({ atMost: policy.filesRemovedAtOnce })
}

/** The cleanup removes it when no profile claims it. */
async function storePicture(deps: PictureDeps, userId: string, body: Buffer): Promise<string> {
  const path = join(tempUploadDir(deps.config.uploadDir), `${deps.random.uuid()}.fetched`)
  try {
    await writeFile(path, body)
    const insert = async (row: StoredImage) => void (await deps.orm.em.fork().insert(Upload, row))
    return (await storeImage(deps, { userId, path, insert })).filename
  } finally {
    await rm(path, { force: true })
  }
}

/** False when the replica shows another profile. */
async function usePicture(
  deps: PictureDeps,
  em: EntityManager,
  { locked: user, picture, filename }: { locked: User | null; picture: RemotePicture; filename: string },
): Promise<boolean> {
  const { field, url } = picture
  const { profileUpdatedAt } = picture.user
  if (!user || user.isDeleted || user.isLocal() || user.profileUpdatedAt !== profileUpdatedAt) return false
  await updateUploadReferences(em, { user, changes: { [field]: filename }, now: new Date(deps.clock.now()) })
  user[field] = filename
  user[`${field}Source`] = url
  await recordProfileChange(em, deps, { user, changed: [field] })
  return true
}
