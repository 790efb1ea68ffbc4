import { createHash, randomBytes } from 'node:crypto'
import { callerHeader, createSigningKeys, hashSecret, signCaller } from '@gatehouse/auth'
import pg from 'pg'
import type { Cluster } from '../../deploy/cluster/cluster.ts'
import type { Account } from './accounts.ts'
import { headersOf } from './changes.ts'
import type { TokenOutcome } from './clients.ts'

const redirectUri = 'http://127.0.0.1:1/callback'
const timeoutMs = 10_000

export type Application = { id: string; secret: string }

/** Lets people log in to applications, and adds one. */
export async function insertApplication(databaseUrl: string): Promise<Application> {
  const application = { id: '20000000000', secret: randomBytes(32).toString('base64url') }
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    await client.query('update instance_settings set openid_enabled = true')
    const columns =
      'id, name, type, redirect_uris, post_logout_redirect_uris, skip_consent, access_tokens, secret_hash, created_at'
    const values = [application.id, JSON.stringify([redirectUri]), hashSecret(application.secret)]
    const sql = `insert into applications (${columns}) values ($1, 'Wiki', 'confidential', $2, '[]', true, 'opaque', $3, now())`
    await client.query(sql, values)
  } finally {
    await client.end()
  }
  return application
}

/** What an application holds of an account: tokens, and a code that it has not exchanged. */
export type Grant = { account: Account; access: string; refresh: string; code: Code }
type Code = { code: string; verifier: string }

type Answer = { status: number; body: Record<string, unknown> }

/** Where the application asks: a gateway, or an openid process itself. */
export type Place = { name: string; ask(path: string, form: Record<string, string>, bearer?: string): Promise<Answer> }

export function placesOf(cluster: Cluster, { id, secret }: Application): Place[] {
  const keys = createSigningKeys('gateway', cluster.environment.INTERNAL_SECRET!)
  const caller = () =>
    signCaller(keys, { address: '127.0.0.1', account: null }, { issuer: 'test', audience: 'openid', now: Date.now() })
  const placeAt = (name: string, url: string, headers: () => Record<string, string>): Place => ({
    name,
    ask: async (path, form, bearer) => {
      const authorization = bearer ? `Bearer ${bearer}` : `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization, ...headers() },
        body: new URLSearchParams(form),
        signal: AbortSignal.timeout(timeoutMs),
      })
      return { status: response.status, body: (await response.json().catch(() => ({}))) as Answer['body'] }
    },
  })
  const replicas = cluster.processes.filter(({ service }) => service === 'openid')
  return [
    ...cluster.gateways.map((url, index) => placeAt(`gateway ${index}`, url, () => ({}))),
    ...replicas.map(({ url, index }) => placeAt(`openid ${index}`, url, () => ({ [callerHeader]: caller() }))),
  ]
}

/** Logs in at the application, as the page of the web app does. Throws where a process does not answer. */
export async function logIn(gateway: string, place: Place, { id }: Application, account: Account): Promise<Grant> {
  const authorize = async (): Promise<Code> => {
    const verifier = randomBytes(32).toString('base64url')
    const query = new URLSearchParams({
      client_id: id,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid profile offline_access',
      prompt: 'consent',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    })
    const jar = new Map<string, string>()
    const visit = async (path: string, init: RequestInit = {}) => {
      const cookie = [...jar].map((one) => one.join('=')).join('; ')
      const headers = { ...headersOf(account), ...(init.headers as Record<string, string>), cookie }
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await fetch(gateway + path, { ...init, headers, signal, redirect: 'manual' })
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        jar.set(name, value)
      }
      return response
    }
    const interaction = (await visit(`/oauth2/auth?${query}`)).headers.get('location') ?? ''
    const decided = await visit(`${interaction}/decision`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${account.token}` },
      body: '{"decision":"allow"}',
    })
    const { pathname, search } = new URL(((await decided.json()) as { url: string }).url)
    const back = new URL((await visit(pathname + search)).headers.get('location') ?? '')
    return { code: back.searchParams.get('code') ?? '', verifier }
  }
  const { body } = await exchange(place, await authorize())
  const [access, refresh] = [body['access_token'], body['refresh_token']]
  if (typeof access !== 'string' || typeof refresh !== 'string') throw new Error('the code gave no tokens')
  return { account, access, refresh, code: await authorize() }
}

const exchange = (place: Place, { code, verifier }: Code) =>
  place.ask('/oauth2/token', {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
  })

/** The newest tokens after a refresh. Undefined: the process did not answer. */
export async function refresh(place: Place, grant: Grant): Promise<Grant | undefined> {
  const { status, body } = await place.ask('/oauth2/token', {
    grant_type: 'refresh_token',
    refresh_token: grant.refresh,
  })
  if (status !== 200) return undefined
  return { ...grant, access: String(body['access_token']), refresh: String(body['refresh_token']) }
}

const presentations: Record<string, (place: Place, grant: Grant) => Promise<TokenOutcome>> = {
  'introspection of the access token': async (place, { access }) =>
    judgeIntrospection(await place.ask('/oauth2/introspect', { token: access })),
  'introspection of the refresh token': async (place, { refresh: token }) =>
    judgeIntrospection(await place.ask('/oauth2/introspect', { token })),
  userinfo: async (place, { access }) => judge(await place.ask('/oauth2/userinfo', {}, access), 401, 'invalid_token'),
  refresh: async (place, { refresh: refresh_token }) =>
    judge(await place.ask('/oauth2/token', { grant_type: 'refresh_token', refresh_token }), 400, 'invalid_grant'),
  code: async (place, { code }) => judge(await exchange(place, code), 400, 'invalid_grant'),
}

/** Those that leave what is presented as it is. */
export const readingNames = Object.keys(presentations).slice(0, 3)
export const presentationNames = Object.keys(presentations)

export async function present(place: Place, grant: Grant, name: string): Promise<TokenOutcome> {
  try {
    return await presentations[name]!(place, grant)
  } catch {
    return 'unavailable'
  }
}

function judgeIntrospection({ status, body }: Answer): TokenOutcome {
  if (status !== 200) return 'unavailable'
  return body['active'] === false ? 'refused' : 'accepted'
}

function judge({ status, body }: Answer, refusedBy: number, error: string): TokenOutcome {
  if (status === 200) return 'accepted'
  return status === refusedBy && body['error'] === error ? 'refused' : 'unavailable'
}
