import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { limits, profileChanged, type pictureFields } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { Upload, accountStateOf, type User } from '@gatehouse/domain'
import type { Outbound } from '@gatehouse/outbound'
import { createFairQueue } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AfterCommit } from '../../after-commit.ts'
import type { IdentityConfig } from '../../config.ts'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import type { ImageConverter } from '../../uploads/image-converter.ts'
import type { UploadCleanup } from '../../uploads/upload-cleanup.ts'
import { tempUploadDir } from '../../uploads/upload-files.ts'
import { recordAccountEvent } from '../account-events.ts'
import { updateUploadReferences } from '../profile/update-upload-references.ts'

export type RemotePicture = {
  /** The replica as it was when its profile was applied. */
  user: Pick<User, 'id' | 'profileUpdatedAt'>
  field: (typeof pictureFields)[number]
  url: string
  /** Of the home: pictures of other origins are left alone. */
  origin: string
}

export type RemotePictures = AsyncDisposable & {
  /** Fetches it in the turn of its origin; a later one of the same field takes its place. Beyond the queue it is left out. */
  fetchLater(picture: RemotePicture): void
  /** Resolves when none waits. */
  idle(): Promise<void>
}

type PictureDeps = Pick<Resources, 'orm' | 'clock' | 'random' | 'log'> & {
  outbound: Outbound
  images: ImageConverter
  config: Pick<IdentityConfig, 'uploadDir'>
  afterCommit: Pick<AfterCommit, 'publishEvents'>
  uploadCleanup: Pick<UploadCleanup, 'removeRecordedFiles'>
  freeDiskBytes: (folder: string) => Promise<number>
}

/**
 * Fetches the pictures of replicas and converts them like uploads, one at a time. They do not hold up the answer to the
 * peer; one that is lost comes with the next report of the same profile, because its source is kept with it only then.
 * Origins take turns and have one under way at most: a slow home delays its own pictures. An origin is the home that serves
 * them and the peer that reported them, so that none can spend the turns of another. federation-wire.md 3.
 */
export function createRemotePictures(deps: PictureDeps): RemotePictures {
  const limits = { capacity: policy.remotePictureQueue, perSource: policy.remotePicturesPerOrigin }
  const turns = createFairQueue<string>(limits)
  const waiting = new Map<string, RemotePicture>()
  /** By origin. */
  const running = new Map<string, Promise<void>>()
  const ending = new AbortController()

  function startNext(): void {
    while (running.size < policy.remotePicturesAtOnce && !ending.signal.aborted) {
      const picture = takeNext()
      if (!picture) return
      running.set(
        picture.origin,
        fetchNow(picture).finally(() => finish(picture)),
      )
    }
  }

  function takeNext(): RemotePicture | undefined {
    const key = turns.take((origin) => !running.has(origin))
    if (key === undefined) return undefined
    const picture = waiting.get(key)
    waiting.delete(key)
    return picture
  }

  function finish({ origin }: RemotePicture): void {
    running.delete(origin)
    startNext()
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
  const use = (em: EntityManager) => usePicture(deps, em, { picture, filename })
  const used = await runTransaction(deps.orm, use, { accountId: user.id })
  deps.log.debug({ userId: user.id, field, used }, 'remote picture fetched')
  deps.afterCommit.publishEvents()
  if (used) await deps.uploadCleanup.removeRecordedFiles({ atMost: policy.filesRemovedAtOnce })
}

/** As an upload that nobody has claimed yet: the cleanup removes it where the replica has changed meanwhile. */
async function storePicture(deps: PictureDeps, userId: string, body: Buffer): Promise<string> {
  const { uploadDir } = deps.config
  const filename = `${deps.random.uuid()}.webp`
  const target = join(tempUploadDir(uploadDir), filename)
  const path = `${target}.fetched`
  try {
    await writeFile(path, body)
    const size = await deps.images.convert({ userId, path, target })
    const createdAt = new Date(deps.clock.now())
    await deps.orm.em.fork().insert(Upload, { filename, size, mimetype: 'image/webp', userId, createdAt })
    await rename(target, join(uploadDir, filename))
    return filename
  } finally {
    await Promise.all([rm(path, { force: true }), rm(target, { force: true })])
  }
}

/** Whether the replica still shows the profile that the picture belongs to. */
async function usePicture(
  deps: PictureDeps,
  em: EntityManager,
  { picture: { user: fetchedFor, field, url }, filename }: { picture: RemotePicture; filename: string },
): Promise<boolean> {
  const user = await lockUser(em, fetchedFor.id)
  const { profileUpdatedAt } = fetchedFor
  if (!user || user.isDeleted || user.isLocal() || user.profileUpdatedAt !== profileUpdatedAt) return false
  const now = deps.clock.now()
  await updateUploadReferences(em, { user, changes: { [field]: filename }, now: new Date(now) })
  user[field] = filename
  user[`${field}Source`] = url
  await em.flush()
  const facts = { state: accountStateOf(user), at: now, profileUpdatedAt, changed: [field], requestId: undefined }
  await recordAccountEvent(em, deps, profileChanged, facts)
  return true
}
