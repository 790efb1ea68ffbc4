// Verifies what Gatehouse tells an application of its users, and prints it: docs/integrate/applications.md.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose'

type Options = { issuer: string; clientId: string; onEvent(event: JWTPayload): void }

/** Takes `POST /signals` (Shared Signals, RFC 8935) and `POST /logout` (Back-Channel Logout). */
export function createReceiver({ issuer, clientId, onEvent }: Options) {
  const keys = createRemoteJWKSet(new URL('/oauth2/jwks', issuer))
  /** A token may come twice. Keep these where a restart keeps them, for three days. */
  const tokenIds = new Set<string | undefined>()

  async function take(token: string, typ: string): Promise<void> {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: clientId,
      typ,
      requiredClaims: ['jti', 'iat'],
    })
    if (typeof payload['events'] !== 'object') throw new Error('it has no events')
    if (!tokenIds.has(payload.jti)) onEvent(payload)
    tokenIds.add(payload.jti)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    try {
      if (request.url === '/signals') await take(body, 'secevent+jwt')
      else await take(new URLSearchParams(body).get('logout_token') ?? '', 'logout+jwt')
      response.writeHead(request.url === '/signals' ? 202 : 200).end()
    } catch (error) {
      // Gatehouse drops what is answered with 400, and tries again after any other status.
      const description = (error as Error).message
      const reply = { err: 'invalid_request', error: 'invalid_request', description, error_description: description }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    }
  }
  return createServer((request, response) => void answer(request, response))
}

if (import.meta.main) {
  const { ISSUER = 'http://127.0.0.1:3000', CLIENT_ID = '', PORT = '8091' } = process.env
  const onEvent = (event: object) => void process.stdout.write(`${JSON.stringify(event)}\n`)
  createReceiver({ issuer: ISSUER, clientId: CLIENT_ID, onEvent }).listen(Number(PORT), '127.0.0.1')
}
