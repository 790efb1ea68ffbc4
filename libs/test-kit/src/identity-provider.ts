import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SignJWT, exportJWK, generateKeyPair, type JWTPayload } from 'jose'

type Claims = { sub: string } & Record<string, unknown>
type Json = Record<string, unknown>
type Grant = { sub: string; nonce: string | null; challenge: string | null; redirectUri: string; authTime: number }

export type TestIdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>

/** How it departs from what is right. Each gets what is right. */
type Departures = {
  metadata?: (metadata: Json) => unknown
  keys?: (set: Json) => unknown
  /** Of the ID token. */
  claims?: (claims: JWTPayload) => JWTPayload
  /** Of the answer with the tokens. */
  tokens?: (answer: Json) => unknown
  userinfo?: (claims: Json) => unknown
  /** Of the address of the client, with its query. */
  callback?: (url: URL) => URL
  /** True: it has answered, or never will. */
  answer?: (request: IncomingMessage, response: ServerResponse) => boolean
}

const algorithm = 'RS256'

/**
 * An OpenID Connect provider with one client, and `accounts` by `sub`. Its page asks for a `sub` each time; any redirect URI is
 * accepted. `depart` makes it hostile.
 */
export async function startIdentityProvider({ accounts }: { accounts: readonly Claims[] }) {
  const clientId = 'gatehouse'
  const clientSecret = randomUUID()
  const { privateKey, publicKey } = await generateKeyPair(algorithm)
  const kid = randomUUID()
  const grants = new Map<string, Grant>()
  const accessTokens = new Map<string, string>()
  const behaviour: { depart: Departures } = { depart: {} }
  const requestedPaths: string[] = []
  const byRequest = (request: IncomingMessage, response: ServerResponse) => {
    void serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  }
  const server = createServer(byRequest).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const sign = async (claims: JWTPayload, typ = 'JWT') =>
    await new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid, typ }).sign(privateKey)
  const claimsOf = (sub: string): Json => accounts.find((one) => one.sub === sub) ?? { sub }

  const metadata = () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [algorithm],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
  })
  const keys = async () => ({ keys: [{ ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' }] })

  /** Where the browser is sent: `sub` null cancels. */
  function authorize(url: URL, sub: string | null): URL {
    const asking = url.searchParams
    const redirectUri = asking.get('redirect_uri') ?? ''
    const back = new URL(redirectUri)
    back.searchParams.set('state', asking.get('state') ?? '')
    back.searchParams.set('iss', issuer)
    if (sub === null) {
      back.searchParams.set('error', 'access_denied')
      return behaviour.depart.callback?.(back) ?? back
    }
    const code = randomUUID()
    const [nonce, challenge] = [asking.get('nonce'), asking.get('code_challenge')]
    grants.set(code, { sub, nonce, challenge, redirectUri, authTime: Math.floor(Date.now() / 1_000) })
    back.searchParams.set('code', code)
    return behaviour.depart.callback?.(back) ?? back
  }

  async function exchange(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const form = new URLSearchParams(await text(request))
    const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
    const [id, secret] = basic.split(':').map(decodeURIComponent)
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    if (id !== clientId || secret !== clientSecret) return { status: 401, body: { error: 'invalid_client' } }
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = grant?.challenge === challenge && grant.redirectUri === form.get('redirect_uri')
    if (!grant || !isRight) return { status: 400, body: { error: 'invalid_grant' } }
    const accessToken = randomUUID()
    accessTokens.set(accessToken, grant.sub)
    const now = Math.floor(Date.now() / 1_000)
    const times = { iat: now, exp: now + 300, auth_time: grant.authTime }
    const claims = { iss: issuer, aud: clientId, sub: grant.sub, ...times, ...(grant.nonce && { nonce: grant.nonce }) }
    const idToken = await sign(behaviour.depart.claims?.(claims) ?? claims)
    const answer = { access_token: accessToken, token_type: 'Bearer', expires_in: 300, id_token: idToken }
    return { status: 200, body: behaviour.depart.tokens?.(answer) ?? answer }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer)
    requestedPaths.push(url.pathname)
    if (behaviour.depart.answer?.(request, response)) return
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (url.pathname === '/.well-known/openid-configuration')
      json(behaviour.depart.metadata?.(metadata()) ?? metadata())
    else if (url.pathname === '/keys') json(behaviour.depart.keys?.(await keys()) ?? (await keys()))
    else if (url.pathname === '/token') await exchange(request).then(({ status, body }) => json(body, status))
    else if (url.pathname === '/userinfo') {
      const sub = accessTokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '')
      if (sub === undefined) return void json({ error: 'invalid_token' }, 401)
      json(behaviour.depart.userinfo?.(claimsOf(sub)) ?? claimsOf(sub))
    } else if (url.pathname === '/authorize' && request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    } else if (url.pathname === '/authorize') {
      const form = new URLSearchParams(await text(request))
      const back = authorize(url, form.has('cancel') ? null : form.get('sub'))
      response.writeHead(303, { location: back.href }).end()
    } else json({ error: 'not_found' }, 404)
  }

  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
  }
  return Object.assign(behaviour, {
    issuer,
    clientId,
    clientSecret,
    /** Paths, oldest first. */
    asked: requestedPaths,
    /** What a browser would be sent back to, after it went to `url` and signed in as `sub`. Null cancels. */
    signIn: (url: string, sub: string | null): URL => authorize(new URL(url), sub),
    /** Any token with its key. */
    sign,
    close,
    [Symbol.asyncDispose]: close,
  })
}

const page = `<!doctype html><title>Identity provider</title><form method="post">
<label>Account <input name="sub" autofocus></label>
<button>Continue</button> <button name="cancel" value="1">Cancel</button></form>`
