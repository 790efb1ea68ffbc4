import Router from '@koa/router'
import { endpoints, limits } from '@gatehouse/contracts'
import { fileForm, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { uploadImage } from '../operations/profile/upload-image.ts'
import { serveFile } from '../uploads/serve-file.ts'
import { receivedFile, tempUploadDir } from '../uploads/upload-files.ts'

/** Contract: 3, uploads. */
export function uploadRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>()
  const { uploadDir } = deps.config
  const form = fileForm({ folder: tempUploadDir(uploadDir), maxBytes: limits.uploadBytes })
  router.post(endpoints.upload.path, usersOnly, form, async (ctx) => {
    await using file = receivedFile(ctx.request.files)
    ctx.body = await uploadImage(deps, { userId: requireUser(ctx).userId, path: file.path })
    ctx.status = 201
  })
  router.get(endpoints.getUpload.path, async (ctx) => {
    await serveFile(ctx, uploadDir, ctx.params['filename'] ?? '')
  })
  return router
}

/** Checked before the body is read: an anonymous client writes nothing to the disk. */
const usersOnly: Middleware<AppState> = async (ctx, next) => {
  requireUser(ctx)
  await next()
}
