import { OutboundFailure, type Outbound } from '@gatehouse/outbound'
import { abortable, refuse, type Clock } from '@gatehouse/runtime'
import { explain, type FileWatch, type Provider } from '@gatehouse/service-kit'
import type { JWTVerifyGetKey } from 'jose'
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import { policy } from './policy.ts'
import { remember } from './remembered.ts'

export type Providers = ReturnType<typeof createProviders>
type KeySet = (...args: Parameters<JWTVerifyGetKey>) => ReturnType<JWTVerifyGetKey>

/** Loaded with the first sign-in: a process without providers need not have it. */
export const loadClient = () => import('openid-client')
const loadJose = () => import('jose')

/** What providers say of themselves, through the guarded connections. Contract: 3, Identity providers. */
export function createProviders(
  { outbound, clock }: { outbound: Outbound; clock: Clock },
  file: Pick<FileWatch<readonly Provider[]>, 'current'>,
) {
  /** The file makes new objects when it is read again. */
  const knowledge = new WeakMap<Provider, { metadata: Ask<ServerMetadata>; keys: Ask<KeySet>; faults: Ask<string[]> }>()
  const guarded = guardedFetch(outbound)

  function knowledgeOf(provider: Provider) {
    const before = knowledge.get(provider)
    if (before) return before
    const metadata = remember(clock, () => readMetadata(provider, guarded))
    const keys = remember(clock, async () => await readKeys(await metadata(), guarded))
    const faults = remember(clock, async () => await findFaults(provider, guarded))
    knowledge.set(provider, { metadata, keys, faults })
    return { metadata, keys, faults }
  }
  /** Throws why the provider cannot be used. */
  const discover = async (provider: Provider): Promise<ServerMetadata> => await knowledgeOf(provider).metadata()
  return {
    list: () => file.current,
    /** Asks again, at most once a minute. Throws which providers cannot be used now, and why. Contract: 8, Readiness. */
    check: async (): Promise<void> => {
      const faults = await Promise.all(file.current.map((provider) => knowledgeOf(provider).faults({ isStale: true })))
      if (faults.flat().length > 0) throw new Error(faults.flat().join('; '))
    },
    /** Throws provider_unknown. */
    require: (id: string): Provider => {
      const provider = file.current.find((one) => one.id === id)
      if (!provider) throw refuse.provider_unknown()
      return provider
    },
    discover,
    /** For one sign-in: all that it asks ends with `signal`. Throws as `discover`. */
    connect: async (provider: Provider, signal: AbortSignal): Promise<Configuration> =>
      await configure(provider, await abortable(discover(provider), signal), guardedFetch(outbound, signal)),
    /** For jose: asks again for an unknown key. Throws provider_unavailable where the keys cannot be had. */
    keys: (provider: Provider): JWTVerifyGetKey => {
      const { keys } = knowledgeOf(provider)
      const find = async (isStale: boolean, ...args: Parameters<KeySet>) => {
        const set = await keys({ isStale }).catch((cause: unknown) => {
          throw unavailable(cause)
        })
        return await set(...args)
      }
      return async (...args) => {
        const { JWKSNoMatchingKey } = (await loadJose()).errors
        return await find(false, ...args).catch(async (error: unknown) => {
          if (!(error instanceof JWKSNoMatchingKey)) throw error
          return await find(true, ...args)
        })
      }
    },
  }
}

type Ask<T> = (options?: { isStale?: boolean }) => Promise<T>

/** 503 with Retry-After. */
export const unavailable = (cause: unknown) =>
  refuse.provider_unavailable({ cause, headers: { 'Retry-After': String(policy.providerRetryMs / 1_000) } })

const withoutBody: readonly number[] = [204, 205, 304]

/** `fetch` over the guarded connections: no redirect, 10 s, 1 MB. Contract: 7, Outbound requests. */
function guardedFetch(outbound: Outbound, signal?: AbortSignal): CustomFetch {
  return async (url, { method, headers, body }) => {
    const answer = await outbound.request({
      method,
      url,
      headers,
      // Texts and forms alone.
      ...(body && { body: String(body as string | URLSearchParams) }),
      ...(signal && { signal }),
      timeoutMs: policy.providerTimeoutMs,
      maxBytes: policy.providerAnswerBytes,
    })
    const content = withoutBody.includes(answer.status) ? null : new Uint8Array(answer.body)
    return new Response(content, { status: answer.status, headers: answer.headers })
  }
}

const isHttp = (url: string): boolean => url.startsWith('http:')

async function readJson(url: string, guarded: CustomFetch): Promise<unknown> {
  const headers = { accept: 'application/json' }
  const answer = await guarded(url, { method: 'GET', headers, body: undefined, redirect: 'manual' })
  if (answer.status !== 200) throw new Error(`${url} was answered with ${answer.status}`)
  return await answer.json()
}

/** The issuer to the letter, and an address for browsers that runs no code of theirs. OpenID Connect Discovery 1.0, 4. */
async function readMetadata({ issuer }: Provider, guarded: CustomFetch): Promise<ServerMetadata> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const metadata = Object(await readJson(url, guarded)) as ServerMetadata
  if (metadata.issuer !== issuer) throw new Error(`the provider calls itself ${JSON.stringify(metadata.issuer)}`)
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const address = metadata[name] ?? ''
    const isAllowed = URL.canParse(address) && (address.startsWith('https:') || (isHttp(issuer) && isHttp(address)))
    if (!isAllowed) throw new Error(`the provider has no usable ${name}`)
  }
  return metadata
}

async function findFaults(provider: Provider, guarded: CustomFetch): Promise<string[]> {
  try {
    await readKeys(await readMetadata(provider, guarded), guarded)
    return []
  } catch (error) {
    return [`${provider.id}: ${explain(error)}`]
  }
}

async function readKeys({ jwks_uri: url = '' }: ServerMetadata, guarded: CustomFetch): Promise<KeySet> {
  const { createLocalJWKSet } = await loadJose()
  const { keys = [] } = Object(await readJson(url, guarded)) as Partial<Parameters<typeof createLocalJWKSet>[0]>
  if (keys.length === 0) throw new Error('the provider publishes no keys')
  if (keys.length > policy.providerKeysMax) throw new Error('the provider has too many keys')
  return createLocalJWKSet({ keys })
}

async function configure(provider: Provider, metadata: ServerMetadata, fetch: CustomFetch): Promise<Configuration> {
  const client = await loadClient()
  const { clientId, clientSecret, issuer } = provider
  // OpenID Connect Discovery 1.0, 3: without a list it is client_secret_basic.
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const isBasic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
  const authentication = isBasic ? client.ClientSecretBasic(clientSecret) : client.ClientSecretPost(clientSecret)
  const configuration = new client.Configuration(metadata, clientId, undefined, authentication)
  configuration[client.customFetch] = fetch
  // The guarded connections decide how far http reaches.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- is marked so that nobody overlooks it
  if (isHttp(issuer)) client.allowInsecureRequests(configuration)
  return configuration
}

/** Whether a provider was not reached, not even to say no. */
export function isUnreachable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OutboundFailure) return cause.kind === 'unreachable' || cause.kind === 'unresolved'
  }
  return false
}
