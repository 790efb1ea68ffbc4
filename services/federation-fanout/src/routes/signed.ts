import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { confirmPeering } from '../operations/confirm-peering.ts'
import { deleteIdentity } from '../operations/delete-identity.ts'
import { resolveStub } from '../operations/resolve-stub.ts'
import { epochReply } from '../replies/epoch-reply.ts'
import { requirePeer, signedInput, signerOf } from '../requests/require-peer.ts'

/** What peers ask, each request signed with the shared secret. Contract: 7. */
export function signedRoutes(deps: Deps): Router {
  const router = new Router()
  const requireActive = requirePeer(deps)
  router.delete(endpoints.deleteIdentity.path, requireActive, async (ctx) => {
    const input = parseInput(endpoints.deleteIdentity.body, signedInput(ctx))
    await deleteIdentity(deps, signerOf(ctx), { ...input, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  router.post(endpoints.epoch.path, requirePeer(deps, { isProof: true }), async (ctx) => {
    const { body, headers } = await epochReply(deps, signerOf(ctx))
    confirmPeering(deps, signerOf(ctx), requestIdOf(ctx))
    ctx.set(headers)
    ctx.type = 'json'
    ctx.body = body
  })
  router.post(endpoints.resolveStub.path, requireActive, async (ctx) => {
    const input = parseInput(endpoints.resolveStub.body, signedInput(ctx))
    const { id, created } = await resolveStub(deps, signerOf(ctx), { ...input, requestId: requestIdOf(ctx) })
    ctx.status = created ? 201 : 200
    ctx.body = { id }
  })
  return router
}
