import { request, type Agent, type IncomingHttpHeaders } from 'node:http'
import { systemRandom } from '@gatehouse/runtime'
import { capturedLog, signTestCaller, testCallerKeys } from '@gatehouse/test-kit'
import { callerHeader, createCallerVerifier, type Caller } from '@gatehouse/auth'
import { movableClock } from '@gatehouse/test-kit/time'
import Router from '@koa/router'
import { createMetrics, createServiceApp, listen, type AppState, type Readiness } from '../src/index.ts'

export type Reply = { status: number; headers: IncomingHttpHeaders; text: string; body: Record<string, unknown> }
export type ServiceHarness = Awaited<ReturnType<typeof startServiceHarness>>

/** A service with what all services have in common and the routes that a test adds. */
export async function startServiceHarness(
  addRoutes: (router: Router<AppState>) => void,
  readiness: Readiness = { required: {} },
) {
  const clock = movableClock(Date.UTC(2026, 0, 1))
  const { log, lines } = capturedLog()
  let draining = false
  const verifyCaller = createCallerVerifier(testCallerKeys, 'invite')
  const deps = { service: 'test', clock, random: systemRandom, log, metrics: createMetrics(), verifyCaller, readiness }
  const app = createServiceApp({ ...deps, draining: () => draining })
  const router = new Router<AppState>()
  addRoutes(router)
  app.use(router.routes()).use(router.allowedMethods())
  const listening = await listen(app.callback(), { host: '127.0.0.1', port: 0, drainMs: 1_000 })
  return {
    clock,
    lines,
    url: listening.url,
    drain: () => void (draining = true),
    /** Sends a request as the gateway does. */
    async send(method: string, path: string, options: Partial<Sent> = {}): Promise<Reply> {
      const caller = options.caller ?? { address: '127.0.0.1', account: null }
      const headers = { [callerHeader]: signTestCaller('invite', caller, clock.now()), ...options.headers }
      return await exchange(listening.url + path, { method, headers, body: options.body })
    },
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  }
}

type Sent = { headers: Record<string, string>; body: string | Buffer | undefined; caller: Caller }

type Request = { method?: string; headers?: Record<string, string>; body?: string | Buffer | undefined; agent?: Agent }

/** One request, exactly as written; without an agent on a connection of its own. */
export async function exchange(url: string, sent: Request = {}): Promise<Reply> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: sent.method ?? 'GET',
      headers: sent.headers ?? {},
      agent: sent.agent ?? false,
    })
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = response.headers['content-type']?.startsWith('application/json')
        const body = isJson && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {}
        resolve({ status: response.statusCode!, headers: response.headers, text, body })
      })
    })
    outgoing.end(sent.body)
  })
}
