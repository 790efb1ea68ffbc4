import { join } from 'node:path'
import { callerKeyLines, createCallerVerifier, createTokenKey, signToken } from '@gatehouse/auth'
import { type AccountStateCache, createMemoryCache } from '@gatehouse/authority'
import { createLocalBus } from '@gatehouse/bus'
import { systemRandom } from '@gatehouse/runtime'
import { serviceNames, type AccountState } from '@gatehouse/contracts'
import { createMetrics, inProcessConnections } from '@gatehouse/service-kit'
import { buildAccountState, capturedLog } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { startGateway, type GatewayConfig } from '../src/service.ts'
import type { Capacity, Timeouts } from '../src/policy.ts'
import { startStub, type StubService } from './stub-service.ts'

const secrets = { internalSecret: 'i'.repeat(32), jwtSecret: 'j'.repeat(32) }
export const tokenKey = createTokenKey(secrets.jwtSecret)
const callerKeys = { lines: callerKeyLines('gateway', [secrets.internalSecret]) }
const verifiers = serviceNames.map((name) => createCallerVerifier(callerKeys, name))

export type Options = {
  config?: Partial<GatewayConfig>
  timeouts?: Partial<Timeouts>
  capacity?: Partial<Capacity>
  accountStateCache?: AccountStateCache
  /** How many stubs each service has. */
  replicas?: number
  /** Whether the stubs are reached as the services of an embedded instance are. */
  embedded?: boolean
}

/** A gateway on a free port, without a web app; the same stubs are the replicas of all services. */
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
    // What a drain grants to requests on their way is a part of it.
    drainMs: 3_000,
    ...secrets,
    publicAddress: { origin: 'https://home.example', domain: 'home.example' },
    trustProxy: '',
    services: {
      identity: origins,
      invite: origins,
      'session-gateway': origins,
      'federation-fanout': origins,
      openid: origins,
    },
    redis: null,
    webRoot: join(import.meta.dirname, 'not-built'),
    ...options.config,
  }
  const inProcess = options.embedded && {
    inProcess: new Map(stubs.map(({ url, server }) => [url, inProcessConnections(server)])),
  }
  const bus = opening.use(createLocalBus({ log }))
  const accountStateCache = options.accountStateCache ?? createMemoryCache(clock)
  const resources = { bus, accountStateCache, clock, random: systemRandom, log, metrics: createMetrics() }
  const gateway = opening.use(await startGateway(config, resources, { ...options, ...inProcess }))
  const open = opening.move()
  return {
    url: gateway.url,
    port: gateway.port,
    opsUrl: gateway.opsUrl,
    gateway,
    config,
    clock,
    accountStateCache,
    bus,
    lines,
    stubs,
    stub: stubs[0]!,
    /** Stores an account at identity and gives a token for it. */
    member: (overrides: Partial<AccountState> = {}): string => {
      const state = buildAccountState(overrides)
      for (const stub of stubs) stub.states.set(state.userId, state)
      return signToken(tokenKey, state, { expiresIn: '1h', now: clock.now() })
    },
    /** The caller that the gateway signed in a request to a stub. */
    callerIn: (headers: Record<string, unknown>) => {
      const verified = verifiers.map((verify) => verify(String(headers['x-gatehouse-caller']), clock.now()))
      return verified.find((caller) => caller !== undefined)
    },
    /** The value of a series on the operator port, labels included; 0 where it has not been counted. */
    metric: async (series: string): Promise<number> => {
      const lines = (await (await fetch(`${gateway.opsUrl}/metrics`)).text()).split('\n')
      return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1) ?? 0)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>
