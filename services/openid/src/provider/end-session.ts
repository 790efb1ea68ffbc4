import { transaction } from '@gatehouse/database'
import type { ProviderClient, ProviderContext } from 'oidc-provider'
import { sectorOfClient } from '../clients/client.ts'
import type { Deps } from '../deps.ts'
import { deleteTokens } from '../grants/end-grants.ts'

type Hint = { payload: { sub?: string; aud?: string } }

/**
 * An application that brings an ID token of a person ends what the person allowed it. There is no session in the browser here, so
 * nothing else is asked or ended. OpenID Connect RP-Initiated Logout 1.0; Contract: 3, Applications.
 */
export function endByHint({ orm, config, subjects }: Pick<Deps, 'orm' | 'config' | 'subjects'>) {
  return async (ctx: ProviderContext, next: () => Promise<unknown>): Promise<void> => {
    await next()
    if (ctx.path !== '/oauth2/end-session' || ctx.status !== 200) return
    const { params, entities } = ctx.oidc
    const { sub, aud } = (entities['IdTokenHint'] as Hint | undefined)?.payload ?? {}
    const client = entities['Client'] as ProviderClient | undefined
    const accountId = sub === undefined || !client ? null : await subjects.accountOf(sectorOfClient(client), sub)
    if (accountId !== null && aud !== undefined) {
      await transaction(orm, (em) => deleteTokens(em, { accountId, applicationId: aud }))
    }
    // The library has checked it against the application.
    const after = params?.['post_logout_redirect_uri']
    const url = new URL(after ?? '/authorize#logout=done', config.publicAddress.origin)
    if (after !== undefined && params?.['state'] !== undefined) url.searchParams.set('state', params['state'])
    ctx.remove('Set-Cookie')
    ctx.body = null
    ctx.status = 303
    ctx.redirect(url.href)
  }
}
