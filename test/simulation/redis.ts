import type { StateRedis } from '../../libs/authority/src/redis/redis-scripts.ts'
import type { Channel, Process, Scheduler } from './scheduler.ts'

type Value = { text: string; expiresAt: number }
export type RedisData = Map<string, Value>

/** A process of Redis. Its scripts are a model of those of redis-scripts.ts, which redis.test.ts compares with a real server. */
export type RedisNode = { runId: string; role: 'master' | 'slave'; isAlive: boolean; region: string; data: RedisData }

type Store = {
  get(key: string): string | undefined
  set(key: string, text: string, ttlMs?: number): void
  setKeepingTtl(key: string, text: string): void
  delete(key: string): void
  now(): number
}

export function storeOf({ data }: Pick<RedisNode, 'data'>, now: () => number): Store {
  const live = (key: string) => {
    const value = data.get(key)
    return value && value.expiresAt > now() ? value : undefined
  }
  return {
    now,
    get: (key) => live(key)?.text,
    set: (key, text, ttlMs = Infinity) => void data.set(key, { text, expiresAt: now() + ttlMs }),
    setKeepingTtl: (key, text) => void data.set(key, { text, expiresAt: live(key)?.expiresAt ?? Infinity }),
    delete: (key) => void data.delete(key),
  }
}

const partsOf = (entry: string) => /^(\d+)([^|]*)/.exec(entry) ?? []
const markOf = (lease: string) => / .*/.exec(lease)?.[0]

/** Whether there is an entry of the same process, and whether it is older. */
function compare(earlier: string | undefined, entry: string) {
  const [, knownVersion, knownMark] = partsOf(earlier ?? '')
  const [, version, mark] = partsOf(entry)
  const isThere = knownMark === mark
  return { isThere, isOlder: isThere && Number(knownVersion) < Number(version) }
}

export const scripts = {
  usedForMs(store: Store, key: string, runId: string, wasPromoted: 0 | 1): number {
    const lastUse = store.get(key)
    const [lastRunId, lastSince] = (lastUse ?? '').split(' ') as [string, string]
    if (lastRunId === runId) return store.now() - Number(lastSince)
    const since = lastUse !== undefined || wasPromoted ? store.now() : 0
    store.set(key, `${runId} ${since}`)
    return store.now() - since
  },
  takeLease(store: Store, key: string, lease: string, ttlMs: number): string {
    const currentLease = store.get(key)
    if (currentLease !== undefined && markOf(currentLease) === markOf(lease)) return currentLease
    store.set(key, lease, ttlMs)
    return lease
  },
  fillState(store: Store, entryKey: string, leaseKey: string, lease: string, entry: string, ttlMs: number) {
    if (store.get(leaseKey) !== lease) return 0
    const { isThere, isOlder } = compare(store.get(entryKey), entry)
    if (isThere && !isOlder) return 0
    store.set(entryKey, entry, ttlMs)
    return 1
  },
  putState(store: Store, entryKey: string, leaseKey: string, entry: string): number {
    store.delete(leaseKey)
    const { isThere, isOlder } = compare(store.get(entryKey), entry)
    if (!isThere) store.delete(entryKey)
    if (!isOlder) return 0
    store.setKeepingTtl(entryKey, entry)
    return 1
  },
}
export type Scripts = typeof scripts

const versionOf = (entry: string) => partsOf(entry)[1]

type Connection = { node: RedisNode; requests: Channel; pending: Set<(error: Error) => void> }

export type SimulatedClient = StateRedis & {
  connect(): void
  isConnected(): boolean
  /** The other end is gone, or the network between them. Requests are on their way, and may arrive at any time. */
  breakConnection(): void
  /** The connection breaks when the next request was carried out, before its reply comes. Undefined: there is none. */
  loseReply: (() => void) | undefined
  nodeId(): string | undefined
}

type ClientOptions = {
  scheduler: Scheduler
  owner: Process
  /** Where a new connection leads. */
  address(): RedisNode
  latencyMs(node: RedisNode): number
  scripts: Scripts
}

/** What `ioredis` is to the cache: it connects again only when the explorer says so. */
export function createClient({ scheduler, owner, address, latencyMs, scripts: used }: ClientOptions): SimulatedClient {
  const handlers: Record<string, (() => void)[]> = {}
  let connection: Connection | undefined
  let sent = 0
  const emit = (event: string) => handlers[event]?.forEach((handle) => handle())

  function close(): void {
    const closed = connection
    if (!closed) return
    connection = undefined
    for (const request of closed.requests) request.to = undefined
    for (const reject of closed.pending) reject(new Error('Connection is closed.'))
    emit('close')
  }

  function command<T>(
    label: string,
    kind: 'read' | 'write' | 'handshake',
    run: (store: Store, node: RedisNode) => T,
  ): Promise<T> {
    const open = connection
    if (!open) return Promise.reject(new Error("Stream isn't writeable"))
    const { node } = open
    sent += 1
    return new Promise<T>((resolve, reject) => {
      open.pending.add(reject)
      const carryOut = () => {
        if (!node.isAlive) return
        const isRefused = kind !== 'read' && label !== 'info' && node.role === 'slave'
        const result = isRefused ? undefined : run(storeOf(node, scheduler.now), node)
        if (connection !== open || !owner.isAlive) return
        open.pending.delete(reject)
        if (isRefused) reject(new Error("READONLY You can't write against a read only replica."))
        else resolve(result as T)
      }
      const isLocal = kind === 'handshake' && ('always' as const)
      const message = { label: `${owner.name} ${sent} ${label}`, to: owner, isLocal, latencyMs: 2 * latencyMs(node) }
      scheduler.send(open.requests, { ...message, deliver: carryOut })
    })
  }

  const client = {
    info: () => command('info', 'handshake', (_store, { runId, role }) => `run_id:${runId}\r\nrole:${role}\r\n`),
    mget: (keys: string[]) =>
      command(`mget ${keys.join()}`, 'read', (store) => keys.map((key) => store.get(key) ?? null)),
    usedForMs: (...args: [string, string, 0 | 1]) =>
      command('usedForMs', 'handshake', (store) => used.usedForMs(store, ...args)),
    takeLease: (...args: [string, string, number]) =>
      command(`lease ${args[1]}`, 'write', (store) => used.takeLease(store, ...args)),
    fillState: (...args: [string, string, string, string, number]) =>
      command(`fill ${args[2]} v${versionOf(args[3])}`, 'write', (store) => used.fillState(store, ...args)),
    putState: (...args: [string, string, string]) =>
      command(`put v${versionOf(args[2])}`, 'write', (store) => used.putState(store, ...args)),
    quit: async () => 'OK',
    disconnect: close,
    on: (event: string, handle: () => void) => void (handlers[event] ??= []).push(handle),
  } as unknown as StateRedis
  return Object.defineProperties(
    client,
    Object.getOwnPropertyDescriptors({
      connect() {
        connection = { node: address(), requests: [], pending: new Set<(error: Error) => void>() }
        emit('ready')
      },
      isConnected: () => connection !== undefined,
      breakConnection: close,
      get loseReply() {
        const open = connection
        const next = open?.requests.shift()
        if (!open || !next) return undefined
        open.requests.unshift(next)
        return () => {
          open.requests.shift()
          close()
          next.deliver()
        }
      },
      nodeId: () => connection?.node.runId,
    }),
  ) as SimulatedClient
}
