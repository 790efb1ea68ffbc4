// The entry `@gatehouse/client/providers`: only pages that offer identity providers need it.
import type { Api, CallOptions } from '../api/api.ts'
import type { Endpoints, LinkedIdentity, PendingRegistration, User } from '../api/records.ts'
import type { KeyValueStorage } from '../platform.ts'
import type { Session } from '../session/session.ts'

type Purpose = Endpoints['startProvider']['input']['body']['purpose']
/** `unavailable`: the instance is. */
type ReturnError = 'cancelled' | 'expired' | 'provider_error' | 'provider_unavailable' | 'unavailable'

/** What the instance says when it sends the browser back to `/sign-in`. A `ticket` counts once, for two minutes. */
export type ProviderReturn =
  { error: null; ticket: string; purpose: Purpose; provider: string; redirect: string | null } | { error: ReturnError }

const stateKey = 'service_provider_state'
const purposes: readonly string[] = ['login', 'link', 'confirm'] satisfies Purpose[]
const errors: readonly string[] = [
  'cancelled',
  'expired',
  'provider_error',
  'provider_unavailable',
  'unavailable',
] satisfies ReturnError[]

type StartOptions = CallOptions & {
  provider: string
  purpose: Purpose
  /** A path of the page, for after the sign-in. */
  redirect?: string | null
  /** That of the tab: no other tab takes what comes back. */
  storage?: KeyValueStorage
}

/**
 * The address of the provider: lead the browser there. The page must be of the instance's own origin, because a cookie binds
 * the browser. `link` and `confirm` need a session. Throws as `client.call`. Contract: 3, Identity providers.
 */
export async function startProvider(
  { call }: Pick<Api, 'call'>,
  { provider, purpose, redirect = null, storage = sessionStorage, signal }: StartOptions,
): Promise<string> {
  const { url } = await call('startProvider', { params: { provider }, body: { purpose, redirect }, signal })
  storage.setItem(stateKey, new URL(url).searchParams.get('state') ?? '')
  return url
}

/**
 * Reads what stands behind the `#`. `expired` too, where this tab did not start it: somebody else could have sent the person
 * here with a ticket of their own. Take it out of the address before.
 */
export function readProviderReturn(fragment: string, storage: KeyValueStorage = sessionStorage): ProviderReturn {
  const read = new URLSearchParams(fragment.replace(/^#/, ''))
  const [ticket, purpose, provider] = [read.get('ticket'), read.get('purpose'), read.get('provider')]
  const error = read.get('error')
  const started = storage.getItem(stateKey)
  storage.removeItem(stateKey)
  if (error !== null) return { error: errors.includes(error) ? (error as ReturnError) : 'provider_error' }
  const isOwn = started !== null && started !== '' && started === read.get('state')
  if (!isOwn || !ticket || !provider || !purposes.includes(purpose ?? '')) return { error: 'expired' }
  return { error: null, ticket, purpose: purpose as Purpose, provider, redirect: read.get('redirect') }
}

export type ProviderLogIn = {
  ticket: string
  /** Of the second factor. */
  code?: string
  /** Registers an account. */
  username?: string
  displayName?: string | null
  inviteToken?: string | null
  /** For the admin who decides. */
  reason?: string | null
}

/**
 * `username`: nobody is linked to this identity. Repeat it with a `username`, and with an invite where `isInviteNeeded`.
 * `approval`: an admin decides on the registration; keep the receipt. Contract: 3, Approval.
 */
export type ProviderLogInStep =
  | { next: null; user: User }
  | { next: 'approval'; pending: PendingRegistration }
  | { next: 'second_factor' }
  | { next: 'username'; proposal: { username: string | null; displayName: string | null }; isInviteNeeded: boolean }

type SignInClient = Pick<Api, 'call'> & { session: Pick<Session, 'initSession'> }

/** Logs in, or registers, with a ticket of the purpose `login`. A step that asks for more leaves the ticket. Throws as `client.call`. */
export async function finishProviderLogIn(
  { call, session }: SignInClient,
  { ticket, code, username, displayName, inviteToken, reason }: ProviderLogIn,
  options?: CallOptions,
): Promise<ProviderLogInStep> {
  const registration = username !== undefined && { username, displayName: displayName || null, inviteToken, reason }
  try {
    const signedIn = await call('finishProvider', {
      body: { ticket, ...(code && { code }), ...registration },
      ...options,
    })
    if ('pending' in signedIn) return { next: 'approval', pending: signedIn }
    if (!('token' in signedIn)) throw new TypeError('The answer has no token')
    session.initSession(signedIn.token, signedIn.user)
    return { next: null, user: signedIn.user }
  } catch (error) {
    const { status, fields = {} } = error as { status?: number; fields?: Record<string, unknown> }
    if (fields['code'] === 'second_factor_required') return { next: 'second_factor' }
    if (status !== 409 || fields['code'] !== 'username_required') throw error
    const { proposal, gates } = fields as unknown as Offer
    return { next: 'username', proposal, isInviteNeeded: !gates.registrationOpen }
  }
}

type Offer = {
  proposal: { username: string | null; displayName: string | null }
  gates: { registrationOpen: boolean }
}

/** `confirm`: a ticket of another linked identity, in place of the password. A refusal of the password leaves both. */
export type IdentityLink = { ticket: string; password?: string } | { ticket: string; confirm: string }

/** Links the identity of a ticket of the purpose `link` to the account of the session. Throws as `client.call`. */
export async function linkIdentity(
  { call }: Pick<Api, 'call'>,
  body: IdentityLink,
  options?: CallOptions,
): Promise<LinkedIdentity> {
  const linked = await call('finishProvider', { body, ...options })
  if (!('identity' in linked)) throw new TypeError('The answer has no identity')
  return linked.identity
}
