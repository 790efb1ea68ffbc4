import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '@gatehouse/contracts'
import { Upload, type User } from '@gatehouse/domain'
import { createFairQueue } from '@gatehouse/runtime'
import { tempUploadDir } from '@gatehouse/uploads'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext, RemotePicture } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { changeUser, recordProfileChange } from '../change-account.ts'
import { updateUploadReferences } from '../profile/update-upload-references.ts'
import { storeImage, type StoredImage } from '../profile/upload-image.ts'

type PictureDeps = OperationContext &
  Pick<Deps, 'outbound' | 'images' | 'uploadStore' | 'config' | 'uploadCleanup' | 'freeDiskBytes'>

/** Origins take turns: a slow home delays its own. What is lost comes with the next report. protocol.md 3.2. */
export function createRemotePictures(deps: PictureDeps) {
  const { remotePictureQueue: capacity, remotePicturesPerOrigin: perSource } = policy
  const turns = createFairQueue<string>({ capacity, perSource })
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
    fetchLater: (picture: RemotePicture) => {
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
  if (used) await deps.uploadCleanup.removeRecordedFiles()
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

type Use = { locked: User | null; picture: RemotePicture; filename: string }

/** False when the replica shows another profile. */
async function usePicture(deps: PictureDeps, em: EntityManager, { locked: user, picture, filename }: Use) {
  const { field, url } = picture
  const { profileUpdatedAt } = picture.user
  if (!user || user.isDeleted || user.isLocal() || user.profileUpdatedAt !== profileUpdatedAt) return false
  await updateUploadReferences(em, { user, changes: { [field]: filename }, now: new Date(deps.clock.now()) })
  user[field] = filename
  user[`${field}Source`] = url
  await recordProfileChange(em, deps, { user, changed: [field] })
  return true
}
