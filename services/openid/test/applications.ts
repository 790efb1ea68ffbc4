import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Bus } from '@gatehouse/bus'
import type { ApplicationReply } from '@gatehouse/contracts'
import { ApplicationConsent, InstanceSettings } from '@gatehouse/domain'
import { parseCidrs } from '@gatehouse/outbound'
import { buildAccountState, createServiceClient, eventually, insertUser, openTestResources } from '@gatehouse/test-kit'
import { testCallerKeys, type TestRequest, type TestResources } from '@gatehouse/test-kit'
import { manualTimer, movableClock } from '@gatehouse/test-kit/time'
import { SignJWT, decodeJwt, decodeProtectedHeader, generateKeyPair, type JWTPayload } from 'jose'
import { startOpenid } from '../src/service.ts'

export const origin = 'https://chat.example'
const minuteMs = 60_000

const { privateKey } = await generateKeyPair('RS256')
const keyring = {
  current: async () => ({ keys: [] }),
  sign: (payload: JWTPayload, { typ }: { typ: string }) =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', typ, kid: 'test' }).sign(privateKey),
}

const configOf = (name: string, allowPrivate: string) => ({
  host: '127.0.0.1',
  port: 0,
  drainMs: 1_000,
  callerKeys: testCallerKeys,
  encryptionSecret: `a secret that encrypts in the tests of ${name}`,
  previousEncryptionSecrets: [],
  publicAddress: { origin, domain: 'chat.example' },
  reach: { allowPrivate: parseCidrs(allowPrivate), resolve: {} },
})

export type Applications = Awaited<ReturnType<typeof startApplications>>

/** The service on a database of its own, with a clock that the test moves and an admin who calls it. */
export async function startApplications({ allowPrivate = 'loopback' } = {}) {
  await using opening = new AsyncDisposableStack()
  const clock = movableClock(Date.UTC(2026, 0, 1))
  const test = opening.use(await openTestResources({ clock, service: 'openid' }))
  const { ownerOrm: orm } = test
  const consumed = new Set<string>()
  const resources = { ...test.resources, bus: watchConsumed(test.resources.bus, consumed) }
  const replicas = [opening.use(await startReplica({ resources, allowPrivate }))]
  const [first] = replicas
  const client = createServiceClient({ name: 'openid', url: first!.url, clock })
  const admin = await insertUser({ orm }, { username: 'founder', isAdmin: true })
  const asAdmin = { id: admin.id, username: admin.username, isAdmin: true }
  const open = opening.move()
  const call = <Body = Record<string, unknown>>(method: string, path: string, request: TestRequest = {}) =>
    client<Body>(method, path, { as: asAdmin, ...request })
  return {
    orm,
    clock,
    resources,
    lines: test.lines,
    admin: asAdmin,
    call,
    openid: first!,
    enable: () => orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, { openidEnabled: true }),
    startReplica: () => startReplica({ resources, allowPrivate }),
    /** Over HTTP, with its secret. */
    async buildApplication(overrides: object = {}) {
      const body = { name: 'Wiki', redirectUris: ['https://wiki.example/callback'], type: 'confidential', ...overrides }
      const made = await call<{ application: ApplicationReply; clientSecret?: string }>(
        'POST',
        '/api/admin/applications',
        {
          body,
        },
      )
      return { ...made.body.application, secret: made.body.clientSecret ?? '' }
    },
    async allow(accountId: string, applicationId: string): Promise<void> {
      const allowed = { scopes: ['openid', 'profile'], grantedAt: new Date(clock.now()) }
      await orm.em.fork().insert(ApplicationConsent, { accountId, applicationId, ...allowed, lastUsedAt: null })
    },
    /** Publishes an event of the account, and waits until it was consumed. */
    async happen(
      event: Parameters<TestResources['resources']['bus']['publish']>[0],
      userId: string,
      more: object = {},
    ) {
      const id = resources.random.uuid()
      const state = buildAccountState({ userId })
      const payload = { userId, at: clock.now(), state, actor: null, ...more }
      await resources.bus.publish(event, payload, { id })
      await eventually('it was consumed', () => consumed.has(id))
      clock.advance(1)
      return id
    },
    receiverOf: async (id: string) => {
      const { body } = await call<{ applications: ApplicationReply[] }>('GET', '/api/admin/applications')
      return body.applications.find((application) => application.id === id)!.receiver
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

function watchConsumed(bus: Bus, consumed: Set<string>): Bus {
  return {
    ...bus,
    subscribe: (subscribed, handler, options) =>
      bus.subscribe(
        subscribed,
        async (received) => {
          await handler(received)
          consumed.add(received.id)
        },
        options,
      ),
  }
}

async function startReplica({ resources, allowPrivate }: Pick<TestResources, 'resources'> & { allowPrivate: string }) {
  const timer = manualTimer()
  const running = await startOpenid(configOf('applications', allowPrivate), resources, { timer, keyring })
  return { ...running, timer, runDue: () => running.deps.notices.runDue() }
}

type Received = { path: string; type: string; header: { typ?: string }; claims: JWTPayload }
type Answer = number | 'hang' | { status: number; body: object }

/** An application that keeps what it is told. `answer` may change at any time. */
export async function startReceiver() {
  const received: Received[] = []
  const state: { answer: Answer | ((received: Received) => Answer) } = { answer: 202 }
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const type = request.headers['content-type'] ?? ''
    const token = type.includes('form') ? (new URLSearchParams(body).get('logout_token') ?? '') : body
    const one = {
      path: request.url ?? '',
      type,
      header: decodeProtectedHeader(token) as Received['header'],
      claims: decodeJwt(token),
    }
    const answer = typeof state.answer === 'function' ? state.answer(one) : state.answer
    received.push(one)
    if (answer === 'hang') return
    if (typeof answer === 'number') response.writeHead(answer).end()
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  }
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    received,
    state,
    url: (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    /** The last part of each event's URI, in order. */
    events: () =>
      received.map(({ claims }) =>
        Object.keys(claims['events'] as object)[0]!
          .split('/')
          .at(-1),
      ),
    cutOff: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** Lets time pass in steps, with what is due in each. */
export async function pass(applications: Applications, totalMs: number, stepMs = 10 * minuteMs): Promise<void> {
  for (let passed = 0; passed < totalMs; passed += stepMs) {
    applications.clock.advance(stepMs)
    await applications.openid.runDue()
  }
}
