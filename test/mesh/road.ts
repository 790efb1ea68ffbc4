import { once } from 'node:events'
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Pem } from '../../libs/database/test/certificates.ts'

/** What passed over a road, and what became of it. */
export type Passage = { to: string; request: string; status: number; at: number }

/** How other instances reach one: by https as its origin says, or by http for reference peers. It may be cut, or be silent. */
export type Road = AsyncDisposable & {
  tlsPort: number
  address: string
  leadTo(url: string): void
  loseAnswerTo(path: string): void
  cut(how: 'open' | 'refused' | 'silent'): void
  isCut(): boolean
}

type Listening = {
  certificate: Pem
  passed: (passage: Passage) => void
  /** Secrets and tokens, which offers and rotations hold in clear. */
  overheard: (secret: string) => void
}
const loginPath = '/api/auth/login'
const secretFields = /"(?:hmacSecret|newSecret|approvalToken)":"([^"]+)"/g

export async function startRoad(to: string, { certificate, passed, overheard }: Listening): Promise<Road> {
  let [url, state] = ['http://127.0.0.1:9', 'open']
  let calls = 0
  const lossPaths: string[] = []
  const openResponses = new Set<ServerResponse>()

  function serve(incoming: IncomingMessage, response: ServerResponse): void {
    if (state === 'refused') return void response.destroy()
    if (state === 'silent') return void openResponses.add(response)
    const { method = 'GET', url: path = '/' } = incoming
    // All repairs of logins come from one address here, and would soon be too many.
    calls += 1
    const forwarded = path === loginPath ? { 'x-forwarded-for': `198.19.${(calls >> 8) & 255}.${calls & 255}` } : {}
    const headers = { ...incoming.headers, ...forwarded }
    const outgoing = sendRequest(`${url}${path}`, { method, headers }, (answer) => {
      const status = answer.statusCode ?? 502
      passed({ to, request: `${method} ${path}`, status, at: performance.now() })
      const index = lossPaths.indexOf(path)
      if (index !== -1) {
        lossPaths.splice(index, 1)
        answer.resume()
        return void answer.once('end', () => response.destroy())
      }
      answer.on('error', () => response.destroy())
      response.writeHead(status, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.on('error', () => outgoing.destroy())
    if (path.startsWith('/api/federation/peer/')) {
      incoming.on('data', (chunk) => {
        for (const [, secret = ''] of String(chunk).matchAll(secretFields)) overheard(secret)
      })
    }
    incoming.pipe(outgoing)
  }

  const servers = [createServer(serve), createTlsServer(certificate, serve)]
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const [port, tlsPort] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number]
  const release = () => {
    for (const response of openResponses) response.destroy()
    openResponses.clear()
  }
  return {
    tlsPort,
    address: `http://127.0.0.1:${port}`,
    leadTo: (other) => void (url = other),
    loseAnswerTo: (path) => void lossPaths.push(path),
    cut: (how) => {
      state = how
      if (how === 'open') lossPaths.length = 0
      release()
    },
    isCut: () => state !== 'open',
    [Symbol.asyncDispose]: async () => {
      release()
      for (const server of servers) {
        server.closeAllConnections()
        await new Promise((closed) => server.close(closed))
      }
    },
  }
}
