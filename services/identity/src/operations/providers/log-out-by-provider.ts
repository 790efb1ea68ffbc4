import { isStorableText } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { LinkedIdentity, ProviderTicket } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Provider } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import { actorOf, writeAuditEntry } from '../change-account.ts'
import { endLockedSessions } from '../credentials/end-sessions.ts'
import { useOnce } from '../use-once.ts'
import { algorithms } from './take-callback.ts'

type LogoutDeps = OperationContext & Pick<Deps, 'providers'>
type Logout = { provider: Provider; logoutToken: unknown; requestId: string }

/**
 * Ends all sessions of the account whose identity a logout token names, as `endSessions` does, and sign-ins with the identity that
 * are not finished. Throws logout_token_invalid, provider_unavailable. Contract: 3, Identity providers.
 */
export async function logOutByProvider(deps: LogoutDeps, { provider, logoutToken, requestId }: Logout): Promise<void> {
  const claims = await verifyLogoutToken(deps, provider, logoutToken)
  const identity = { issuer: provider.issuer, subject: claims.sub }
  const stored = await deps.orm.em.fork().findOne(LinkedIdentity, identity)
  const logOut = async (em: EntityManager) => {
    // A login locks its account before its ticket, too.
    if (stored) await lockUser(em, stored.userId)
    await useToken(em, identity.issuer, claims)
    await em.nativeDelete(ProviderTicket, identity)
    // A registration that used one up has ended.
    const linked = await em.findOne(LinkedIdentity, identity)
    const user = linked && (await lockUser(em, linked.userId))
    if (!user) return undefined
    const ended = await endLockedSessions(deps, em, { user, actor: actorOf(user), requestId })
    const detail = { provider: provider.id }
    writeAuditEntry(em, { action: 'user.sessions-ended-by-provider', user, detail, at: ended.issuedAt })
    return ended.state
  }
  const state = await transaction(deps.orm, logOut, stored ? { accountId: stored.userId } : {})
  if (state) await deps.afterCommit.invalidateCache(state)
}

const storable = z.string().min(1).max(255).refine(isStorableText)

/** https://openid.net/specs/openid-connect-backchannel-1_0.html, 2.4. A `sid` alone is not enough: none is kept. Older drafts had no `exp`. */
const logoutClaims = z.object({
  sub: storable,
  jti: storable,
  iat: z.number(),
  events: z.object({ 'http://schemas.openid.net/event/backchannel-logout': z.object({}) }),
  /** An ID token has one. */
  nonce: z.undefined().optional(),
})
type LogoutClaims = z.infer<typeof logoutClaims>

const types: readonly unknown[] = [undefined, 'jwt', 'logout+jwt', 'application/logout+jwt']

async function verifyLogoutToken({ clock, providers }: LogoutDeps, provider: Provider, token: unknown) {
  const { errors, jwtVerify } = await import('jose')
  try {
    const { payload, protectedHeader } = await jwtVerify(z.string().parse(token), providers.keys(provider), {
      issuer: provider.issuer,
      audience: provider.clientId,
      algorithms,
      maxTokenAge: policy.logoutTokenMs / 1_000,
      clockTolerance: policy.providerClockSkewMs / 1_000,
      currentDate: new Date(clock.now()),
    })
    if (!types.includes(protectedHeader.typ?.toLowerCase())) throw new errors.JWTInvalid('of another type')
    return logoutClaims.parse(payload)
  } catch (cause) {
    if (!(cause instanceof errors.JOSEError || cause instanceof z.ZodError)) throw cause
    throw refuse.logout_token_invalid() // without its cause: it may quote the token
  }
}

/** Once on any replica. Throws logout_token_invalid. */
async function useToken(em: EntityManager, issuer: string, { jti, iat }: LogoutClaims): Promise<void> {
  // A second more: the age is judged in whole ones.
  const expiresAt = new Date((iat + 1) * 1_000 + policy.logoutTokenMs + policy.providerClockSkewMs)
  if (!(await useOnce(em, { issuer, token: jti, expiresAt }))) throw refuse.logout_token_invalid()
}
