import { rm } from 'node:fs/promises'
import Router from '@koa/router'
import { endpoints, limits } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import { fileForm, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuseBeyondUnclaimed, uploadImage } from '../operations/profile/upload-image.ts'
import { policy } from '../policy.ts'
import { serveFile } from '../uploads/serve-file.ts'
import { tempUploadDir } from '../uploads/upload-files.ts'

/** Contract: 3, uploads. */
export function uploadRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const form = fileForm({ folder: tempUploadDir(deps.config.uploadDir), maxBytes: limits.uploadBytes })
  router.post(endpoints.upload.path, admitUpload(deps), form, async (ctx) => {
    await using file = receivedFile(ctx.request.files)
    ctx.body = await uploadImage(deps, { caller: requireUser(ctx), path: file.path })
    ctx.status = 201
  })
  router.get(endpoints.getUpload.path, (ctx) => serveFile(ctx, deps.uploadStore, ctx.params['filename'] ?? ''))
  return router
}

/** Runs before the body is read: what is refused writes nothing to the disk. */
function admitUpload(deps: Deps): Middleware<AppState> {
  return async (ctx, next) => {
    const { userId } = requireUser(ctx)
    if ((await deps.freeDiskBytes(deps.config.uploadDir)) < policy.uploadFreeBytesMin) {
      throw refuse.disk_full({ headers: { 'Retry-After': String(policy.diskRetryAfterSeconds) } })
    }
    await refuseBeyondUnclaimed(deps.orm.em.fork(), { userId, size: 0 })
    await next()
  }
}

type FormFiles = Record<string, { filepath: string } | { filepath: string }[] | undefined>

/** Disposing removes every file of the form. Throws file_missing. */
function receivedFile(files: FormFiles = {}): AsyncDisposable & { path: string } {
  const all = Object.values(files).flatMap((found) => found ?? [])
  const removeAll = async () => {
    await Promise.all(all.map(({ filepath }) => rm(filepath, { force: true })))
  }
  const { file } = files
  if (!file || Array.isArray(file)) {
    void removeAll().catch(() => undefined) // the cleanup removes what is left
    throw refuse.file_missing()
  }
  return { path: file.filepath, [Symbol.asyncDispose]: removeAll }
}
