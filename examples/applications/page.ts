// A page for users who log in with Gatehouse: docs/integrate/applications.md.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import * as openid from 'openid-client'
import { createReceiver } from './receiver.ts'

type Options = { issuer: string; clientId: string; clientSecret: string; origin: string }

export async function createPage({ issuer, clientId, clientSecret, origin }: Options) {
  // Only for tries on this machine: elsewhere Gatehouse has https.
  const isLocal = ['localhost', '127.0.0.1'].includes(new URL(issuer).hostname)
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const execute = isLocal ? [openid.allowInsecureRequests] : []
  const config = await openid.discovery(new URL(issuer), clientId, clientSecret, undefined, { execute })
  /** Of browsers that are logging in, by the `state` that only they hold. */
  const verifiers = new Map<string, string>()
  const sessions = new Map<string, { sub: string; name: string }>()

  async function startLogin() {
    const [state, verifier] = [openid.randomState(), openid.randomPKCECodeVerifier()]
    verifiers.set(state, verifier)
    const code_challenge = await openid.calculatePKCECodeChallenge(verifier)
    const parameters = { redirect_uri: `${origin}/callback`, scope: 'openid profile', state, code_challenge }
    const { href } = openid.buildAuthorizationUrl(config, { ...parameters, code_challenge_method: 'S256' })
    return { to: href, cookie: `state=${state}` }
  }

  async function finishLogin(path: string, expectedState: string) {
    const checks = { expectedState, pkceCodeVerifier: verifiers.get(expectedState) ?? '', idTokenExpected: true }
    verifiers.delete(expectedState)
    const tokens = await openid.authorizationCodeGrant(config, new URL(path, origin), checks)
    const sub = tokens.claims()?.sub ?? ''
    const { name, preferred_username: username = '' } = await openid.fetchUserInfo(config, tokens.access_token, sub)
    const session = randomUUID()
    sessions.set(session, { sub, name: name ?? username })
    return { to: '/', cookie: `session=${session}` }
  }

  const onEvent = ({ sub }: { sub?: string }) => {
    for (const [session, user] of sessions) if (user.sub === sub) sessions.delete(session)
  }
  const receiver = createReceiver({ issuer, clientId, onEvent })

  async function answer({ url = '/', headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const cookieOf = (name: string) => new RegExp(`\\b${name}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1] ?? ''
    const user = sessions.get(cookieOf('session'))
    if (user && url === '/') return void response.end(`Hello ${user.name}`)
    const { to, cookie } = url.startsWith('/callback') ? await finishLogin(url, cookieOf('state')) : await startLogin()
    response.writeHead(303, { location: to, 'set-cookie': `${cookie}; HttpOnly; SameSite=Lax; Path=/` }).end()
  }
  return createServer((request, response) => {
    if (request.url === '/logout') return void receiver.emit('request', request, response)
    answer(request, response).catch(() => response.writeHead(400).end('That did not work'))
  })
}

if (import.meta.main) {
  const { ISSUER = 'http://127.0.0.1:3000', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '8090' } = process.env
  const options = { issuer: ISSUER, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET }
  const page = await createPage({ ...options, origin: `http://127.0.0.1:${PORT}` })
  page.listen(Number(PORT), '127.0.0.1')
}
