import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Answer = (response: ServerResponse) => void

const loginPage = '<!doctype html><title>Sign in</title><form action="/portal/login"><input name="user"></form>'

const send = (status: number, type: string, text: string, headers: Record<string, string> = {}): Answer => {
  return (response) => void response.writeHead(status, { 'content-type': type, ...headers }).end(text)
}
const html = (status: number, headers?: Record<string, string>) => send(status, 'text/html', loginPage, headers)
export const json = (status: number, body: object) => send(status, 'application/json', JSON.stringify(body))

/** The connection ends before the length that the head names. */
export const cut = (status: number, text: string, type = 'application/json'): Answer => {
  return (response) => {
    response.writeHead(status, { 'content-type': type, 'content-length': text.length + 20 })
    response.write(text, () => response.destroy())
  }
}

const refusal = { error: 'Token has been revoked', statusCode: 401, code: 'token_revoked' }

/** Of proxies, captive portals and other services in the place of an instance. */
export const foreignAnswers: Readonly<Record<string, Answer>> = {
  'a 404 of text': send(404, 'text/plain', '404 page not found'),
  'a 403 of HTML': html(403),
  'a 401 of HTML': html(401),
  'a 401 without a body': (response) => void response.writeHead(401).end(),
  'a 401 of basic auth': html(401, { 'www-authenticate': 'Basic realm="staff"' }),
  'a 401 of JSON without our fields': json(401, { message: 'Unauthorized' }),
  'a 401 of JSON whose error is no text': json(401, { error: { code: 401, message: 'Unauthorized' } }),
  'a 401 of JSON that is no object': send(401, 'application/json', '"Unauthorized"'),
  'a 404 of JSON without our fields': json(404, { status: 404, message: 'no Route matched' }),
  'a 403 of JSON that names another status': json(403, { ...refusal, statusCode: 502 }),
  'a 407': html(407, { 'proxy-authenticate': 'Basic realm="proxy"' }),
  'a 451 of HTML': html(451),
  'a 502 of HTML': html(502),
  'a 503 of HTML': html(503),
  'a 504 of HTML': html(504),
  'a captive portal, 200 of HTML': html(200),
  'a 200 without a body': send(200, 'application/json', ''),
  'a 204': (response) => void response.writeHead(204).end(),
  'a 200 of JSON without our fields': json(200, { status: 'ok' }),
  'a 200 of JSON that is no object': send(200, 'application/json', 'null'),
  'a redirect to a login page': html(302, { location: '/portal/page' }),
  'a redirect to a service that refuses as we do': html(307, { location: '/portal/refusal' }),
  'a refusal that is cut': cut(401, JSON.stringify(refusal)),
  'a reply that is cut': cut(200, '{"id":"1","token":"t","filename":"f.webp"'),
}

/** Of this service, and of existing instances of both generations. */
export const ownRefusals: Readonly<Record<string, Answer>> = {
  'of this service': json(401, refusal),
  'with its status alone': json(401, { error: 'Unauthorized', statusCode: 401 }),
  'with its text alone': json(401, { error: 'Unauthorized' }),
  'of a framework': json(401, { statusCode: 401, code: 'FST_X', error: 'Unauthorized', message: 'no token' }),
}

/** A server that answers everything alike, upgrades too, but for where its redirects lead. */
export async function startServer(answer: Answer): Promise<{ origin: string } & AsyncDisposable> {
  const portal: Readonly<Record<string, Answer>> = { '/portal/page': html(200), '/portal/refusal': json(401, refusal) }
  const server = createServer((request, response) => (portal[request.url ?? ''] ?? answer)(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
