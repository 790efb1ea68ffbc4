import {
  type AccountStateCache,
  type AccountStates,
  type CacheInvalidator,
  type LoadedStates,
  createAccountStates,
  createCacheInvalidator,
  judgeToken,
  startCacheUpdater,
} from '@gatehouse/authority'
import { hash } from 'node:crypto'
import type { AccountState } from '@gatehouse/contracts'
import { isRefusal, type Clock } from '@gatehouse/runtime'
import { buildAccountState } from '@gatehouse/test-kit'
import { createAccountStateLoader } from '../../gateway/src/auth/account-states.ts'
import type { Deps } from '../../gateway/src/deps.ts'
import { openRedisCache } from '../../libs/authority/src/redis/redis-cache.ts'
import type { StateRedis } from '../../libs/authority/src/redis/redis-scripts.ts'
import { invalidationRetryMs } from '../../libs/authority/src/policy.ts'
import { createAfterCommit, type AfterCommit } from '../../services/identity/src/after-commit.ts'
import { createClient, scripts, type RedisData, type RedisNode, type Scripts, type SimulatedClient } from './redis.ts'
import { createScheduler, type Action, type Process } from './scheduler.ts'

type Load = (userIds: readonly string[]) => Promise<LoadedStates>

/** What a planted fault puts around the real code. */
export type Mutant = {
  scripts?: Partial<Scripts>
  redis?: (redis: StateRedis) => StateRedis
  cache?: (cache: AccountStateCache) => AccountStateCache
  invalidator?: (invalidator: CacheInvalidator) => CacheInvalidator
  load?: (load: Load) => Load
  clock?: (clock: Clock) => Clock
}

export type FaultKind =
  | 'a connection to Redis breaks'
  | 'Redis comes back empty'
  | 'Redis comes back from an old file'
  | 'Redis is gone'
  | 'a replica is promoted'
  | 'identity loses Redis'
  | 'identity crashes'
  | 'a question fails'
  | 'an event comes twice'

export type Scenario = {
  name: string
  /** By gateway. */
  reads: Record<string, number>
  /** By replica of identity. */
  changes: Record<string, number>
  isBusSilent?: boolean
  /** Processes that are told of another Redis than the rest. */
  otherRedis?: readonly string[]
  /** Its entry is in the cache when the exploration begins. */
  isCached?: boolean
  faults: readonly FaultKind[]
  maxFaults: number
  /** How often time may pass although something could happen. */
  maxDelays: number
  /** A pause before a retry takes this long: any timer may be late. */
  retryMs?: number
  /** By process, and `redis` and `database`. Undefined: all in one. */
  regions?: Record<string, string>
  hopMs?: { within: number; between: number }
}

type Gateway = Process & {
  client: SimulatedClient
  cache: AccountStateCache
  states: AccountStates
  reading: number
  judgedMs: number[]
  applyEvent(state: AccountState): Promise<void>
}
type Identity = Process & {
  client: SimulatedClient
  cache: AccountStateCache
  afterCommit: AfterCommit
  changing: number
  answeredMs: number[]
}

export type World = {
  actions(): Action[]
  digest(): string
  violation(): string | undefined
  /** Of the end: what was asked and has no answer. */
  unanswered(): string[]
  gateways: readonly Gateway[]
  identities: readonly Identity[]
  now(): number
}

const userId = buildAccountState().userId
const noLog = { warn: () => undefined, info: () => undefined, debug: () => undefined }
/** The password of version n was chosen in second 1,000 n. */
const stateOf = (version: number) => buildAccountState({ version, passwordChangedAt: version * 1_000_000 })
const tokenOf = (version: number) => ({ iat: version * 1_000 })

/** Lets everything run that waits for no message and for no timer: a read of the cache waits for one turn of the event loop. */
export async function settle(): Promise<void> {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
}

export async function createWorld(scenario: Scenario, mutant: Mutant = {}): Promise<World> {
  const scheduler = createScheduler()
  const { hopMs = { within: 0, between: 0 }, regions = {} } = scenario
  const regionOf = (name: string) => regions[name] ?? 'one'
  const hop = (from: string, to: string) => (from === to ? hopMs.within : hopMs.between)
  const retryMs = scenario.retryMs ?? invalidationRetryMs
  const clock = (mutant.clock ?? ((same) => same))({ now: scheduler.now })

  const database = { version: 1, region: regionOf('database') }
  let answered = 1
  let violation: string | undefined
  let delays = 0
  let faults = 0
  const events: { version: number; isGone: boolean; isRepeated: boolean }[] = []
  const budget = { reads: { ...scenario.reads }, changes: { ...scenario.changes } }

  const nodes: RedisNode[] = []
  function startRedis(data: RedisData): RedisNode {
    const node: RedisNode = {
      runId: `run${nodes.length}`,
      role: 'master',
      isAlive: true,
      region: regionOf('redis'),
      data,
    }
    nodes.push(node)
    return node
  }
  let primary = startRedis(new Map())
  const other = scenario.otherRedis ? startRedis(new Map()) : undefined
  let oldFile: RedisData = new Map()
  const cutOff = new Set<Process>()

  async function startProcess(name: string) {
    const process: Process = { name, region: regionOf(name), isAlive: true, history: '' }
    const client = createClient({
      scheduler,
      owner: process,
      address: () => (other && scenario.otherRedis?.includes(name) ? other : primary),
      latencyMs: (node) => hop(process.region, node.region),
      scripts: { ...scripts, ...mutant.scripts },
    })
    const timer = scheduler.timerOf(process, (ms) => (ms === invalidationRetryMs ? retryMs : ms))
    let leases = 0
    const random = { uuid: () => `${name}-${(leases += 1)}` } as never
    const redis = mutant.redis?.(client) ?? client
    const opening = openRedisCache(redis, { random, log: noLog, timer, parsedEntries: 10 })
    client.connect()
    return { process, client, timer, opening }
  }

  async function openCache({ opening }: { opening: Promise<AccountStateCache> }): Promise<AccountStateCache> {
    let opened: AccountStateCache | undefined
    void opening.then((cache) => (opened = cache))
    for (;;) {
      await settle()
      if (opened) return mutant.cache?.(opened) ?? opened
      earliest(scheduler.actions([])).run()
    }
  }

  const identities: Identity[] = []
  for (const name of Object.keys(scenario.changes)) {
    const started = await startProcess(name)
    const cache = await openCache(started)
    const invalidator = createCacheInvalidator({ cache, clock, log: noLog, timer: started.timer })
    const cacheInvalidator = mutant.invalidator?.(invalidator) ?? invalidator
    const afterCommit = createAfterCommit({ relay: { notify: () => undefined }, cacheInvalidator })
    identities.push(
      Object.assign(started.process, { client: started.client, cache, afterCommit, changing: 0, answeredMs: [] }),
    )
  }

  /** The question of a gateway, as it reaches one replica: the replica reads, then says whose cache it writes. */
  function ask(
    gateway: Process,
    identity: Identity,
  ): Promise<{ statusCode: number; body: { json(): Promise<unknown> } }> {
    const { promise, resolve, reject } = Promise.withResolvers<{
      statusCode: number
      body: { json(): Promise<unknown> }
    }>()
    const name = `${gateway.name} asks ${identity.name}`
    const send = (label: string, to: Process, latencyMs: number, deliver: () => void) =>
      scheduler.send([], {
        label: `${name}: ${label}`,
        to,
        isLocal: to === gateway && 'undisturbed',
        latencyMs,
        deliver,
      })
    const fail = () =>
      send('no answer', gateway, 0, () => reject(Object.assign(new Error('late'), { name: 'TimeoutError' })))
    if (!identity.isAlive) {
      fail()
      return promise
    }
    questions.set(fail, identity)
    const there = hop(gateway.region, identity.region)
    send('question', identity, there + hop(identity.region, database.region), () => {
      const { version } = database
      send(`v${version} read`, identity, hop(database.region, identity.region), () => {
        const reply = { states: [stateOf(version)], cacheId: identity.cache.id() }
        send(`v${version} of ${String(reply.cacheId)}`, gateway, there, () => {
          questions.delete(fail)
          resolve({ statusCode: 200, body: { json: async () => reply } })
        })
      })
    })
    return promise
  }
  const questions = new Map<() => void, Identity>()

  const gateways: Gateway[] = []
  for (const name of Object.keys(scenario.reads)) {
    const started = await startProcess(name)
    const cache = await openCache(started)
    const gateway = Object.assign(started.process, {
      client: started.client,
      cache,
      reading: 0,
      judgedMs: [] as number[],
    })
    // The replica of the same region is asked first.
    const replicas = [...identities]
      .sort((one, other) => hop(gateway.region, one.region) - hop(gateway.region, other.region))
      .map((identity) => ({ origin: identity.name, pools: { states: { request: () => ask(gateway, identity) } } }))
    const load = createAccountStateLoader({
      replicas: { identity: { candidates: () => replicas, markHealthy: () => undefined, markFailed: () => undefined } },
      signers: { identity: { sign: () => '' } },
      log: noLog,
    } as unknown as Pick<Deps, 'replicas' | 'signers' | 'log'>)
    const states = createAccountStates({ cache, load: mutant.load?.(load) ?? load })
    let applyEvent: Gateway['applyEvent'] = async () => undefined
    type Handle = (event: { name: string; payload: { state: AccountState; at: number } }) => Promise<void>
    await startCacheUpdater({
      bus: {
        subscribe: async (_events: unknown, handle: Handle) => {
          applyEvent = (state) => handle({ name: 'PasswordChanged', payload: { state, at: 0 } })
        },
      },
      accountStateCache: cache,
      clock,
      revocationApplied: () => undefined,
    } as unknown as Parameters<typeof startCacheUpdater>[0])
    gateways.push(Object.assign(gateway, { states, applyEvent }))
  }

  async function read(gateway: Gateway): Promise<void> {
    const [answeredBefore, startedAt] = [answered, scheduler.now()]
    gateway.reading += 1
    try {
      const state = await gateway.states.find(userId)
      gateway.judgedMs.push(scheduler.now() - startedAt)
      const status = judgeToken(tokenOf(answeredBefore - 1), state)
      if (status !== 'revoked') {
        violation ??= `${gateway.name} judged by v${state?.version ?? '?'} after v${answeredBefore} was answered: ${status}`
      }
    } catch (error) {
      if (!isRefusal(error) || error.code !== 'unavailable') violation ??= `${gateway.name}: ${String(error)}`
    } finally {
      gateway.reading -= 1
    }
  }

  /** A change of a password, an administrator's reset, a deletion: a commit, then `invalidateCache`, then the answer. */
  function change(identity: Identity): void {
    identity.changing += 1
    const startedAt = scheduler.now()
    const commit = () => {
      database.version += 1
      const { version } = database
      if (!scenario.isBusSilent) events.push({ version, isGone: false, isRepeated: false })
      void identity.afterCommit.invalidateCache(stateOf(version)).then(() => {
        if (!identity.isAlive) return
        identity.changing -= 1
        identity.answeredMs.push(scheduler.now() - startedAt)
        answered = Math.max(answered, version)
      })
    }
    scheduler.send([], {
      label: `${identity.name} commits`,
      to: identity,
      latencyMs: 2 * hop(identity.region, database.region),
      deliver: commit,
    })
  }

  const now = () => scheduler.now()
  function request(label: string, to: Process, run: () => void): Action {
    return {
      label,
      at: now(),
      kind: 'request',
      run: () => {
        to.history = hash('sha1', `${to.history} ${now()} ${label}`)
        run()
      },
    }
  }

  function requests(): Action[] {
    const started: Action[] = []
    for (const process of [...gateways, ...identities]) {
      const canConnect = process.isAlive && !process.client.isConnected() && primary.isAlive && !cutOff.has(process)
      if (canConnect)
        started.push(request(`${process.name} connects to ${primary.runId}`, process, () => process.client.connect()))
    }
    for (const identity of identities) {
      if (identity.isAlive && identity.changing === 0 && budget.changes[identity.name]! > 0) {
        const begin = () => {
          budget.changes[identity.name]! -= 1
          change(identity)
        }
        started.push(request(`${identity.name} changes the password`, identity, begin))
      }
    }
    for (const event of events) {
      if (event.isGone) continue
      for (const gateway of gateways) {
        // An event whose handler fails comes again later.
        if (!gateway.cache.ready()) continue
        const apply = () => {
          event.isGone = true
          gateway.applyEvent(stateOf(event.version)).catch(() => (event.isGone = false))
        }
        started.push(request(`${gateway.name} gets the event of v${event.version}`, gateway, apply))
      }
    }
    for (const gateway of gateways) {
      if (gateway.reading === 0 && budget.reads[gateway.name]! > 0) {
        const judge = () => {
          budget.reads[gateway.name]! -= 1
          void read(gateway)
        }
        started.push(request(`${gateway.name} judges a request`, gateway, judge))
      }
    }
    return started
  }

  const copy = (data: RedisData): RedisData => new Map(data)
  function endRedis(next: RedisData | undefined): void {
    primary.isAlive = false
    for (const { client } of [...gateways, ...identities])
      if (client.nodeId() === primary.runId) client.breakConnection()
    if (next) primary = startRedis(next)
  }

  const possible: Record<FaultKind, () => (readonly [string, () => void])[]> = {
    'a connection to Redis breaks': () =>
      [...gateways, ...identities]
        .filter(({ isAlive, client }) => isAlive && client.isConnected())
        .flatMap(({ name, client: { breakConnection, loseReply } }) => [
          [`the connection of ${name} to Redis breaks`, breakConnection] as const,
          ...(loseReply ? [[`${name} loses a reply of Redis`, loseReply] as const] : []),
        ]),
    'Redis comes back empty': () => (primary.isAlive ? [['Redis comes back empty', () => endRedis(new Map())]] : []),
    'Redis comes back from an old file': () =>
      primary.isAlive ? [['Redis comes back from an old file', () => endRedis(copy(oldFile))]] : [],
    'Redis is gone': () => (primary.isAlive ? [['Redis is gone', () => endRedis(undefined)]] : []),
    'a replica is promoted': () => {
      if (!primary.isAlive) return []
      const promote = (data: RedisData) => () => {
        primary.role = 'slave'
        primary = startRedis(copy(data))
      }
      return [
        ['an old replica is promoted', promote(oldFile)],
        ['a replica is promoted', promote(primary.data)],
      ]
    },
    'identity loses Redis': () =>
      identities
        .filter((identity) => identity.isAlive && !cutOff.has(identity))
        .map(
          (identity) =>
            [
              `${identity.name} loses Redis`,
              () => {
                cutOff.add(identity)
                identity.client.breakConnection()
              },
            ] as const,
        ),
    'identity crashes': () =>
      identities
        .filter(({ isAlive }) => isAlive)
        .map(
          (identity) =>
            [
              `${identity.name} crashes`,
              () => {
                identity.isAlive = false
                identity.client.breakConnection()
                for (const [fail, target] of questions) if (target === identity && questions.delete(fail)) fail()
              },
            ] as const,
        ),
    'a question fails': () =>
      [...questions.keys()].map(
        (fail, index) =>
          [
            `question ${index} fails`,
            () => {
              questions.delete(fail)
              fail()
            },
          ] as const,
      ),
    'an event comes twice': () =>
      events
        .filter(({ isGone, isRepeated }) => isGone && !isRepeated)
        .map(
          (event) =>
            [
              `the event of v${event.version} comes twice`,
              () => {
                event.isRepeated = true
                event.isGone = false
              },
            ] as const,
        ),
  }

  function faultActions(): Action[] {
    if (faults >= scenario.maxFaults) return []
    const offered = scenario.faults.flatMap((kind) => possible[kind]())
    return offered.map(([label, happen]) => ({
      label,
      at: now(),
      kind: 'fault',
      run: () => {
        faults += 1
        happen()
      },
    }))
  }

  const deadlines = () =>
    nodes.flatMap(({ data }) => [...data.values()].map(({ expiresAt }) => expiresAt)).filter((at) => at < Infinity)

  function actions(): Action[] {
    const next = [...scheduler.actions(deadlines()), ...requests()]
    const time = next.filter(({ kind }) => kind === 'time')
    const others = next.filter(({ kind }) => kind !== 'time')
    const isQuiet = others.length === 0
    // Deadlines alone matter to nobody when nothing will happen.
    if (isQuiet && !time.some(() => unanswered().length > 0)) return []
    const mayDelay = isQuiet || delays < scenario.maxDelays
    const delay = time.map((action) => ({ ...action, run: () => ((delays += isQuiet ? 0 : 1), action.run()) }))
    const disturbances = [...(mayDelay ? delay : []), ...faultActions()]
    const local = others.find(({ isLocal }) => isLocal === 'always' || (isLocal && disturbances.length === 0))
    return local ? [local] : [...others, ...disturbances]
  }

  function unanswered(): string[] {
    const reading = gateways.filter((gateway) => gateway.reading > 0).map(({ name }) => `${name} judges`)
    const changing = identities
      .filter(({ isAlive, changing }) => isAlive && changing > 0)
      .map(({ name }) => `${name} changes`)
    return [...reading, ...changing]
  }

  if (scenario.isCached) {
    void read(gateways[0]!)
    for (await settle(); unanswered().length > 0; await settle()) earliest(scheduler.actions([])).run()
    oldFile = copy(primary.data)
  }
  for (const one of [...gateways, ...identities]) one.history = ''
  for (const gateway of gateways) gateway.judgedMs.length = 0

  return {
    actions,
    digest: () => {
      const redis = nodes.map(({ runId, role, isAlive, data }) => [runId, role, isAlive, [...data].sort()])
      const own = [
        scheduler.digest(),
        redis,
        database.version,
        answered,
        budget,
        delays,
        faults,
        events,
        [...cutOff].map(({ name }) => name),
      ]
      return hash('sha1', JSON.stringify(own), 'base64')
    },
    violation: () => violation,
    unanswered,
    gateways,
    identities,
    now,
  }
}

/** What happens where nothing is late. */
export function earliest(actions: readonly Action[]): Action {
  const usual = actions.filter(({ kind }) => kind !== 'fault')
  return usual.reduce((one, other) => (other.at < one.at ? other : one))
}
