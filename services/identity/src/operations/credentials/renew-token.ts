import { findLogin, type ActingCaller } from '@gatehouse/authority'
import { refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { recordSignIn, type Sender } from '../accounts/sign-ins.ts'
import { changeSelf } from '../change-account.ts'

type Renewal = { caller: ActingCaller } & Pick<Sender, 'client'>

/** `issuedAt` (ms) is the time of issue of the fresh token. Throws renewal_off, renewal_too_early. Contract: 3, renew. */
export async function renewToken(deps: OperationContext & Pick<Deps, 'config'>, { caller, client }: Renewal) {
  if (!deps.config.jwtRenew) throw refuse.renewal_off()
  return await changeSelf(deps, caller, async (user, em) => {
    const now = await deps.databaseTime(em)
    if (now - caller.tokenIssuedAt * 1000 <= policy.renewalAgeMs) throw refuse.renewal_too_early()
    const login = await findLogin(em, caller)
    const loggedInAt = login === null ? null : login * 1000
    return { user, issuedAt: await recordSignIn(em, { user, now, method: 'renewal', loggedInAt, client }) }
  })
}
