import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { answer, callerOf, requestIdOf, requireUser, type AppState } from '@gatehouse/service-kit'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { changePassword } from '../operations/credentials/change-password.ts'
import { endSessions } from '../operations/credentials/end-sessions.ts'
import { listSignIns } from '../operations/credentials/sign-ins.ts'
import { verifyPassword } from '../operations/credentials/verify-password.ts'
import { deleteAccount } from '../operations/deletion/delete-account.ts'
import { exportData } from '../operations/export/export-data.ts'
import { addPasskey, beginPasskey, listPasskeys, removePasskey } from '../operations/passkeys/own-passkeys.ts'
import { patchProfile } from '../operations/profile/patch-profile.ts'
import { endSecondFactor, renewRecoveryCodes } from '../operations/second-factor/end.ts'
import { beginSecondFactor, confirmSecondFactor, readSecondFactor } from '../operations/second-factor/set-up.ts'
import { loadUser } from '../queries/load-user.ts'
import { issueToken } from '../replies/credentials-reply.ts'
import { deleteRemoteIdentities } from '../operations/federation/delete-remote-identities.ts'
import { listOrders } from '../operations/federation/deletion-orders.ts'
import { issueFederationCredential } from '../operations/federation/federation-credentials.ts'
import { issueAttachProof } from '../operations/federation/issue-attach-proof.ts'
import { reattach } from '../operations/federation/reattach.ts'
import { putRegistry, readRegistry } from '../operations/federation/registry.ts'

/** Contract: 3, users. */
export function userRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.getSelf, async (_, ctx) =>
    sanitizeUser(await loadUser(deps.orm.em, requireUser(ctx).userId), true),
  )
  answer(router, endpoints.patchSelf, async (changes, ctx) => {
    if (Object.keys(ctx.request.body as object).length === 0) throw refuse.no_fields_to_update()
    return sanitizeUser(await patchProfile(deps, { changes, ...actOf(ctx) }), true)
  })
  answer(router, endpoints.deleteSelf, (input, ctx) => deleteAccount(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.changePassword, async (input, ctx) => {
    const { user, issuedAt } = await changePassword(deps, { ...input, ...actOf(ctx) })
    return { token: issueToken(deps, user, issuedAt) }
  })
  answer(router, endpoints.endSessions, async (input, ctx) => {
    const { user, issuedAt } = await endSessions(deps, { ...input, ...actOf(ctx) })
    return { token: issueToken(deps, user, issuedAt) }
  })
  answer(router, endpoints.listSignIns, async (_, ctx) => ({
    signIns: await listSignIns(deps, requireUser(ctx).userId),
  }))
  addSecondFactorRoutes(router, deps)
  addPasskeyRoutes(router, deps)
  answer(router, endpoints.exportData, async (input, ctx) => {
    const { archive, username } = await exportData(deps, { ...input, ...actOf(ctx) })
    ctx.attachment(`${username}.zip`)
    ctx.type = 'application/zip'
    return archive
  })
  answer(router, endpoints.verifyPassword, async (input, ctx) => ({
    valid: await verifyPassword(deps, { ...input, ...actOf(ctx) }),
  }))
  answer(router, endpoints.getUser, async ({ id }, ctx) =>
    sanitizeUser(await loadUser(deps.orm.em, id), id === requireUser(ctx).userId),
  )
  return router
}

/** Who acts on the own account, and from where. */
export const actOf = (ctx: { state: AppState }) => ({
  caller: requireUser(ctx),
  address: callerOf(ctx).address,
  requestId: requestIdOf(ctx),
})

/** Contract: 3, Second factor. */
function addSecondFactorRoutes(router: Router<AppState>, deps: Deps): void {
  answer(router, endpoints.readSecondFactor, (_, ctx) => readSecondFactor(deps, requireUser(ctx).userId))
  answer(router, endpoints.beginSecondFactor, (input, ctx) => beginSecondFactor(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.confirmSecondFactor, async (input, ctx) => ({
    recoveryCodes: await confirmSecondFactor(deps, { ...input, ...actOf(ctx) }),
  }))
  answer(router, endpoints.renewRecoveryCodes, async (input, ctx) => ({
    recoveryCodes: await renewRecoveryCodes(deps, { ...input, ...actOf(ctx) }),
  }))
  answer(router, endpoints.endSecondFactor, (input, ctx) => endSecondFactor(deps, { ...input, ...actOf(ctx) }))
}

/** Contract: 3, Passkeys. */
function addPasskeyRoutes(router: Router<AppState>, deps: Deps): void {
  answer(router, endpoints.listPasskeys, async (_, ctx) => ({
    passkeys: await listPasskeys(deps, requireUser(ctx).userId),
  }))
  answer(router, endpoints.beginPasskey, (input, ctx) => beginPasskey(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.addPasskey, (input, ctx) => addPasskey(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.removePasskey, (input, ctx) => removePasskey(deps, { ...input, ...actOf(ctx) }))
}

/** Contract: 7; federation-wire.md 4, 5. */
export function identityRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.getRegistry, (_, ctx) => readRegistry(deps, requireUser(ctx).userId))
  answer(router, endpoints.putRegistry, async (list, ctx) => ({
    ok: true,
    updatedAt: await putRegistry(deps, { ...list, ...actOf(ctx) }),
  }))
  answer(router, endpoints.deleteFederationIdentity, async (input, ctx) => ({
    results: await deleteRemoteIdentities(deps, { ...input, ...actOf(ctx) }),
  }))
  answer(router, endpoints.listDeletionOrders, async (_, ctx) => ({
    orders: await listOrders(deps.orm.em.fork(), requireUser(ctx).userId),
  }))
  answer(router, endpoints.federationCredential, (input, ctx) =>
    issueFederationCredential(deps, { ...input, ...actOf(ctx) }),
  )
  answer(router, endpoints.attachProof, async (input, ctx) => ({
    token: await issueAttachProof(deps, { ...input, ...actOf(ctx) }),
  }))
  answer(router, endpoints.reattach, async (input, ctx) => ({
    success: true,
    user: sanitizeUser(await reattach(deps, { ...input, ...actOf(ctx) }), true),
  }))
  return router
}
