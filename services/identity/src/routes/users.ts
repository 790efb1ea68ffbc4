import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import {
  answer,
  callerOf,
  describeClient,
  requestIdOf,
  requireUser,
  untilFirstChunk,
  type AppState,
} from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { listSignIns } from '../operations/accounts/sign-ins.ts'
import { changePassword } from '../operations/credentials/change-password.ts'
import { endSessions } from '../operations/credentials/end-sessions.ts'
import { renewToken } from '../operations/credentials/renew-token.ts'
import { verifyPassword } from '../operations/credentials/verify-password.ts'
import { deleteAccount } from '../operations/deletion/delete-account.ts'
import { deleteRemoteIdentities } from '../operations/deletion/delete-remote-identities.ts'
import { removeEmail, setEmail } from '../operations/email/own-email.ts'
import { exportData } from '../operations/export/export-data.ts'
import { issueFederationCredential } from '../operations/federation/federation-credentials.ts'
import { issueAttachProof } from '../operations/federation/issue-attach-proof.ts'
import { reattach } from '../operations/federation/reattach.ts'
import { putRegistry, readRegistry } from '../operations/federation/registry.ts'
import { addPasskey, beginPasskey, listPasskeys, removePasskey } from '../operations/passkeys/own-passkeys.ts'
import { patchProfile } from '../operations/profile/patch-profile.ts'
import { endSecondFactor, renewRecoveryCodes } from '../operations/second-factor/end.ts'
import { beginSecondFactor, confirmSecondFactor, readSecondFactor } from '../operations/second-factor/set-up.ts'
import { listOrders } from '../queries/list-orders.ts'
import { loadUser } from '../queries/load-user.ts'
import { selfReply, tokenReply } from '../replies/replies.ts'

type Context = { state: AppState }

const callerIdOf = (ctx: Context) => requireUser(ctx).userId

/** An act on the own account. */
const withCaller = <Input extends object>(input: Input, ctx: Context) => ({
  ...input,
  caller: requireUser(ctx),
  address: callerOf(ctx).address,
  requestId: requestIdOf(ctx),
})

/** What users do with their own account. Contract: 3, as a whole; 7, reattach; protocol.md 4, 5. */
export function userRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.getSelf, async (_, ctx) => selfReply(deps, await loadUser(deps.orm.em, callerIdOf(ctx))))
  answer(router, endpoints.patchSelf, async (changes, ctx) => {
    if (Object.keys(ctx.state.body as object).length === 0) throw refuse.no_fields_to_update()
    return selfReply(deps, await patchProfile(deps, withCaller({ changes }, ctx)))
  })
  answer(router, endpoints.setEmail, (input, ctx) => setEmail(deps, withCaller(input, ctx)))
  answer(router, endpoints.removeEmail, (input, ctx) => removeEmail(deps, withCaller(input, ctx)))
  answer(router, endpoints.deleteSelf, (input, ctx) => deleteAccount(deps, withCaller(input, ctx)))
  answer(router, endpoints.changePassword, async (input, ctx) => {
    return tokenReply(deps, await changePassword(deps, withCaller(input, ctx)))
  })
  answer(router, endpoints.endSessions, async (input, ctx) =>
    tokenReply(deps, await endSessions(deps, withCaller(input, ctx))),
  )
  answer(router, endpoints.renewToken, async (_, ctx) => {
    const client = describeClient(ctx.req, callerOf(ctx).address)
    return tokenReply(deps, await renewToken(deps, { caller: requireUser(ctx), client }))
  })
  answer(router, endpoints.listSignIns, (_, ctx) => listSignIns(deps, callerIdOf(ctx)))
  answer(router, endpoints.readSecondFactor, (_, ctx) => readSecondFactor(deps, callerIdOf(ctx)))
  answer(router, endpoints.beginSecondFactor, (input, ctx) => beginSecondFactor(deps, withCaller(input, ctx)))
  answer(router, endpoints.confirmSecondFactor, (input, ctx) => confirmSecondFactor(deps, withCaller(input, ctx)))
  answer(router, endpoints.renewRecoveryCodes, (input, ctx) => renewRecoveryCodes(deps, withCaller(input, ctx)))
  answer(router, endpoints.endSecondFactor, (input, ctx) => endSecondFactor(deps, withCaller(input, ctx)))
  answer(router, endpoints.listPasskeys, (_, ctx) => listPasskeys(deps, callerIdOf(ctx)))
  answer(router, endpoints.beginPasskey, (input, ctx) => beginPasskey(deps, withCaller(input, ctx)))
  answer(router, endpoints.addPasskey, (input, ctx) => addPasskey(deps, withCaller(input, ctx)))
  answer(router, endpoints.removePasskey, (input, ctx) => removePasskey(deps, withCaller(input, ctx)))
  answer(router, endpoints.exportData, async (input, ctx) => {
    const { archive, username } = await exportData(deps, withCaller(input, ctx))
    await untilFirstChunk(ctx, archive)
    ctx.attachment(`${username}.zip`)
    ctx.type = 'application/zip'
    return archive
  })
  answer(router, endpoints.verifyPassword, (input, ctx) => verifyPassword(deps, withCaller(input, ctx)))
  answer(router, endpoints.getUser, async ({ id }, ctx) =>
    sanitizeUser(await loadUser(deps.orm.em, id), id === callerIdOf(ctx)),
  )
  answer(router, endpoints.getRegistry, (_, ctx) => readRegistry(deps, callerIdOf(ctx)))
  answer(router, endpoints.putRegistry, (list, ctx) => putRegistry(deps, withCaller(list, ctx)))
  answer(router, endpoints.deleteFederationIdentity, (input, ctx) =>
    deleteRemoteIdentities(deps, withCaller(input, ctx)),
  )
  answer(router, endpoints.listDeletionOrders, (_, ctx) => listOrders(deps.orm.em.fork(), callerIdOf(ctx)))
  answer(router, endpoints.federationCredential, (input, ctx) =>
    issueFederationCredential(deps, withCaller(input, ctx)),
  )
  answer(router, endpoints.attachProof, (input, ctx) => issueAttachProof(deps, withCaller(input, ctx)))
  answer(router, endpoints.reattach, async (input, ctx) => {
    return { success: true, user: sanitizeUser(await reattach(deps, withCaller(input, ctx)), true) }
  })
  return router
}
