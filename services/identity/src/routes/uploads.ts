import { join } from 'node:path'
import Router from '@koa/router'
import { endpoints, limits, uploadFields } from '@gatehouse/contracts'
import { isDiskFull, refuse } from '@gatehouse/runtime'
import { OccasionalLog, parseInput, receiveFile, requireUser, type AppState } from '@gatehouse/service-kit'
import { tempUploadDir } from '@gatehouse/uploads'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuseBeyondUnclaimed, uploadImage } from '../operations/profile/upload-image.ts'
import { policy } from '../policy.ts'
import { serveFile } from '../uploads/serve-file.ts'

/** The temporary file is removed however the request ends. Contract: 3, uploads. */
export function uploadRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.post(endpoints.upload.path, refuseFullDisk(deps), admitUpload(deps), async (ctx) => {
    const path = join(tempUploadDir(deps.config.uploadDir), deps.random.uuid())
    await using form = await receiveFile(ctx, path, limits.uploadBytes)
    const { crop } = parseInput(uploadFields, form.fields)
    ctx.body = await uploadImage(deps, { caller: requireUser(ctx), path, ...(crop && { crop }) })
    ctx.status = 201
  })
  router.get(endpoints.getUpload.path, (ctx) => serveFile(ctx, deps.uploadStore, ctx.params['filename'] ?? ''))
  return router
}

const diskFull = () => refuse.disk_full({ headers: { 'Retry-After': String(policy.diskRetryAfterSeconds) } })

/** A disk or quota may be full although the free space was enough before. Contract: 3, uploads. */
function refuseFullDisk(deps: Pick<Deps, 'log' | 'timer'>): Middleware<AppState> {
  const warnings = new OccasionalLog(deps)
  return async (_ctx, next) => {
    try {
      await next()
    } catch (err) {
      if (!isDiskFull(err)) throw err
      warnings.warn('disk full', { err }, 'uploads are refused: the disk is full')
      throw diskFull()
    }
  }
}

/** Runs before the body is read: what is refused writes nothing to the disk. */
function admitUpload(deps: Pick<Deps, 'orm' | 'config' | 'freeDiskBytes'>): Middleware<AppState> {
  return async (ctx, next) => {
    const { userId } = requireUser(ctx)
    if ((await deps.freeDiskBytes(deps.config.uploadDir)) < policy.uploadFreeBytesMin) {
      throw diskFull()
    }
    await refuseBeyondUnclaimed(deps.orm.em.fork(), { userId, size: 0 })
    await next()
  }
}
