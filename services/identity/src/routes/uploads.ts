import Router from '@koa/router'
import { endpoints, limits } from '@gatehouse/contracts'
import { fileForm, memberOf } from '@gatehouse/service-kit'
import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { uploadImage } from '../operations/upload-image.ts'
import { replyWithFile } from '../replies/file-reply.ts'
import { receivedFile } from '../uploads/received-file.ts'
import { partsFolder } from '../uploads/parts-folder.ts'
import { openStoredFile } from '../uploads/stored-file.ts'

/** Contract: 3, uploads. */
export function uploadRoutes(deps: Deps): Router {
  const router = new Router()
  const folder = partsFolder(deps.config.uploadDir)
  const form = fileForm({ folder, maxBytes: limits.uploadBytes })
  router.post(endpoints.upload.path, membersOnly, form, async (ctx) => {
    await using file = receivedFile(ctx.request.files)
    ctx.body = await uploadImage(deps, { userId: memberOf(ctx).userId, path: file.path })
    ctx.status = 201
  })
  router.get(endpoints.getUpload.path, async (ctx) => {
    const filename = ctx.params['filename'] ?? ''
    const file = await openStoredFile(deps.config.uploadDir, filename)
    if (!file) throw refuse.upload_unknown()
    await replyWithFile(ctx, filename, file)
  })
  return router
}

/** Nothing is taken in from somebody who is not signed in. */
const membersOnly: Middleware = async (ctx, next) => {
  memberOf(ctx)
  await next()
}
