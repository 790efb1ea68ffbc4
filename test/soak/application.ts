import { createHash, randomBytes } from 'node:crypto'
import { answered } from '@gatehouse/test-kit'
import type { Scene, Visitor } from './visitor.ts'

export type Grant = { access: string; refresh: string }

/** What a browser and the application do for a login there: the page, the decision, the code, the tokens. */
export async function logInAtApplication({ system }: Scene, visitor: Visitor, token: string): Promise<Grant> {
  const { application, callback, origin } = system
  const verifier = randomBytes(32).toString('base64url')
  const parameters = new URLSearchParams({
    client_id: application.id,
    response_type: 'code',
    redirect_uri: callback,
    state: 'soak',
    prompt: 'consent',
    scope: 'openid profile offline_access',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const jar = new Map<string, string>()
  const browse = async (path: string) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const { headers } = await answered(visitor.call(`GET ${path}`, { headers: { cookie } }), 303)
    keepCookies(jar, headers)
    return new URL(headers.get('location') ?? '', origin)
  }
  const page = await browse(`/oauth2/auth?${parameters}`)
  const interactionPage = page.hash === '' ? await browse(page.pathname + page.search) : page
  const uid = interactionPage.hash.slice(1)
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const options = { token, body: { decision: 'allow' }, headers: { cookie } }
  const decided = await answered(visitor.call(`POST /oauth2/interaction/${uid}/decision`, options), 200)
  const resumed = new URL(String(decided.body.url), origin)
  const back = await browse(resumed.pathname + resumed.search)
  const code = back.searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier }
  return grantOf(await askAsApplication({ system }, visitor, { path: 'token', form }))
}

export async function refreshGrant(scene: Scene, visitor: Visitor, { refresh }: Grant): Promise<Grant> {
  const form = { grant_type: 'refresh_token', refresh_token: refresh }
  return grantOf(await askAsApplication(scene, visitor, { path: 'token', form }))
}

export async function isActive(scene: Pick<Scene, 'system'>, visitor: Visitor, token: string): Promise<boolean> {
  const { active } = await askAsApplication(scene, visitor, { path: 'introspect', form: { token } })
  return active === true
}

type Question = { path: string; form: Record<string, string> }

async function askAsApplication({ system }: Pick<Scene, 'system'>, visitor: Visitor, { path, form }: Question) {
  const { id, secret } = system.application
  const authorization = `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`
  return (await answered(visitor.call(`POST /oauth2/${path}`, { form, headers: { authorization } }), 200)).body
}

const grantOf = (body: Record<string, unknown>): Grant => ({
  access: String(body.access_token),
  refresh: String(body.refresh_token),
})

function keepCookies(jar: Map<string, string>, headers: Headers): void {
  for (const line of headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    jar.set(name, value)
  }
}

/** By the provider: gives the ticket. */
export async function visitProvider(
  { system }: Scene,
  visitor: Visitor,
  { sub, purpose, token }: { sub: string; purpose: 'login' | 'confirm'; token?: string },
): Promise<string> {
  const started = await answered(
    visitor.call('POST /api/auth/providers/school/start', { token, body: { purpose } }),
    200,
  )
  const jar = new Map<string, string>()
  keepCookies(jar, started.headers)
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const back = system.provider.signIn(String(started.body.url), sub)
  const returned = await visitor.call(`GET ${back.pathname}${back.search}`, { headers: { cookie } })
  const ticket = new URLSearchParams((returned.headers.get('location') ?? '').split('#')[1]).get('ticket')
  if (ticket === null) throw new Error(`the provider's callback led to ${returned.headers.get('location')}`)
  return ticket
}
