import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createMemoryStore,
  type StateStore,
  createCallerKey,
  createTokenKey,
  signToken,
  verifyCaller,
} from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { movableClock, systemRandom } from '@gatehouse/runtime'
import type { AccountState } from '@gatehouse/contracts'
import { createMetrics } from '@gatehouse/service-kit'
import { capturedLog } from '@gatehouse/test-kit'
import { startGateway, type GatewayConfig } from '../src/service.ts'
import type { Patience } from '../src/policy.ts'
import { startStub, type StubService } from './stub-service.ts'

const secrets = { internalSecret: 'i'.repeat(32), jwtSecret: 'j'.repeat(32) }
export const tokenKey = createTokenKey(secrets.jwtSecret)
const callerKey = createCallerKey(secrets.internalSecret)

export type Options = {
  config?: Partial<GatewayConfig>
  patience?: Partial<Patience>
  store?: StateStore
  /** How many stubs stand behind each service name. */
  replicas?: number
}

/** A gateway on a free port before stubs; one set of stubs stands for all services. */
export async function startHarness(options: Options = {}) {
  await using opening = new AsyncDisposableStack()
  const clock = movableClock()
  const { log, lines } = capturedLog()
  const stubs: StubService[] = []
  for (let count = 0; count < (options.replicas ?? 1); count += 1) stubs.push(opening.use(await startStub()))
  const origins = stubs.map((stub) => stub.url)
  const config: GatewayConfig = {
    host: '127.0.0.1',
    port: 0,
    opsHost: '127.0.0.1',
    opsPort: 0,
    ...secrets,
    publicAddress: { origin: 'https://home.example', domain: 'home.example' },
    trustProxy: '',
    services: { identity: origins, invite: origins, 'session-gateway': origins, 'federation-fanout': origins },
    redisUrl: null,
    webRoot: join(mkdtempSync(join(tmpdir(), 'gatehouse-gateway-')), 'web'),
    ...options.config,
  }
  const bus = opening.use(createLocalBus({ log }))
  const store = options.store ?? createMemoryStore(clock)
  const ports = { bus, store, clock, random: systemRandom, log, metrics: createMetrics() }
  const gateway = opening.use(await startGateway(config, ports, options.patience ? { patience: options.patience } : {}))
  const open = opening.move()
  return {
    url: gateway.url,
    port: gateway.port,
    opsUrl: gateway.opsUrl,
    gateway,
    config,
    clock,
    store,
    bus,
    lines,
    stubs,
    stub: stubs[0]!,
    /** Makes identity know an account, and gives a token for it. */
    member: (overrides: Partial<AccountState> = {}): string => {
      const state = buildState(overrides)
      for (const stub of stubs) stub.states.set(state.userId, state)
      return signToken(tokenKey, state, { expiresIn: '1h', now: clock.now() })
    },
    /** Whom the gateway vouched for in a request that a stub saw. */
    callerIn: (headers: Record<string, unknown>) =>
      verifyCaller(callerKey, String(headers['x-gatehouse-caller']), clock.now()),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

export function buildState(overrides: Partial<AccountState> = {}): AccountState {
  return {
    userId: '42',
    version: 1,
    username: 'ada',
    isDeleted: false,
    isAdmin: false,
    passwordChangedAt: null,
    sessionsEndedAt: null,
    ...overrides,
  }
}
