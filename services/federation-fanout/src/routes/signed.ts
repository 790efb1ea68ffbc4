import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { loadInstanceSettings } from '@gatehouse/database'
import { parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { receiveRotation } from '../operations/administer-peer.ts'
import { receiveDenial } from '../operations/decide-request.ts'
import { consumeAttachProof, lookUpById, lookUpByName } from '../operations/remote-users.ts'
import { deleteIdentity, resolveStub } from '../operations/remote-users.ts'
import { policy } from '../policy.ts'
import { answerSync } from '../relay/native-profiles.ts'
import { relayEvents } from '../relay/receive-events.ts'
import { createRelayAdmission } from '../requests/admit-relay.ts'
import { parseBatch, readRawBody } from '../requests/raw-body.ts'
import { answerSigned, limitPeer, oneAtATime, requirePeer, signedInput, signerOf } from '../requests/require-peer.ts'

/** What peers send, each request signed. Contract: 7, signatures; protocol.md 3, 4. */
export function signedRoutes(deps: Deps): Router {
  const router = new Router()
  addIdentityRoutes(router, deps)
  addExchangeRoutes(router, deps)
  return router
}

function addIdentityRoutes(router: Router, deps: Deps): void {
  const requireActive = requirePeer(deps)
  const limit = limitPeer(deps, policy.lookups)
  router.delete(endpoints.deleteIdentity.path, requireActive, async (ctx) => {
    const input = parseInput(endpoints.deleteIdentity.body, signedInput(ctx))
    const receipt = await deleteIdentity(deps, signerOf(ctx), { ...input, requestId: requestIdOf(ctx) })
    ctx.body = { success: true, ...receipt }
  })
  router.get(endpoints.receiptKeys.path, (ctx) => {
    ctx.body = { keys: deps.receiptKeys.published }
  })
  router.post(endpoints.resolveStub.path, requireActive, limitPeer(deps, policy.stubs), async (ctx) => {
    const input = parseInput(endpoints.resolveStub.body, signedInput(ctx))
    const { id, created } = await resolveStub(deps, signerOf(ctx), { ...input, requestId: requestIdOf(ctx) })
    ctx.status = created ? 201 : 200
    ctx.body = { id }
  })
  router.post(endpoints.lookUpUser.path, requireActive, limit, async (ctx) => {
    const { username } = parseInput(endpoints.lookUpUser.body, signedInput(ctx))
    ctx.body = { found: true, user: await lookUpByName(deps, signerOf(ctx), username) }
  })
  router.post(endpoints.lookUpByHomeId.path, requireActive, limit, async (ctx) => {
    const { homeUserId } = parseInput(endpoints.lookUpByHomeId.body, signedInput(ctx))
    const user = await lookUpById(deps, signerOf(ctx), homeUserId)
    ctx.body = user ? { found: true, user } : { found: false }
  })
  router.post(endpoints.verifyAttachProof.path, requireActive, limit, async (ctx) => {
    const { token } = parseInput(endpoints.verifyAttachProof.body, signedInput(ctx))
    answerSigned(ctx, deps, await consumeAttachProof(deps, { token, targetDomain: signerOf(ctx).host }))
  })
}

function addExchangeRoutes(router: Router, deps: Deps): void {
  const requireActive = requirePeer(deps)
  router.post(endpoints.epoch.path, requirePeer(deps, { isProof: true }), async (ctx) => {
    const { instanceId } = await loadInstanceSettings(deps.orm.em.fork())
    answerSigned(ctx, deps, { instanceId })
  })
  router.post(endpoints.peerDenied.path, async (ctx) => {
    await receiveDenial(deps, { headers: ctx.headers, body: await readRawBody(ctx), requestId: requestIdOf(ctx) })
    ctx.body = { acknowledged: true }
  })
  router.post(endpoints.rotatePeerSecret.path, requireActive, async (ctx) => {
    const { newSecret } = parseInput(endpoints.rotatePeerSecret.body, signedInput(ctx))
    ctx.body = await receiveRotation(deps, signerOf(ctx), newSecret)
  })
  const requireBatch = requirePeer(deps, { parse: parseBatch })
  const limit = limitPeer(deps, policy.relays)
  const relays = createRelayAdmission(deps)
  router.post(endpoints.relay.path, relays.admit, requireBatch, relays.claim, limit, async (ctx) => {
    const input = parseInput(endpoints.relay.body, signedInput(ctx))
    ctx.body = await relayEvents(deps, signerOf(ctx), { ...input, requestId: requestIdOf(ctx) })
  })
  router.post(endpoints.sync.path, requireActive, oneAtATime(), async (ctx) => {
    const input = parseInput(endpoints.sync.body, signedInput(ctx))
    ctx.body = await answerSync(deps, signerOf(ctx), input)
  })
}
