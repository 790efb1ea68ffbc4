import { randomBytes, randomUUID } from 'node:crypto'
import type { Instance, Settings, Timeouts } from './instance.ts'
import { ownOrigin } from './origins.ts'

const minuteMs = 60_000

export type Timers = { outboxMs: number; quarterHourMs: number; hourMs: number }

export type ReferencePeerOptions = {
  /** PUBLIC_ORIGIN as an operator types it; else `https://` + domain; else http://localhost with the port. */
  publicOrigin?: string
  domain?: string
  /** Left out: a free port of this machine. */
  listen?: { host?: string | undefined; port?: number | undefined }
  /** Origin of a remote → the http address where it listens. It may be filled after the start. */
  resolve?: Map<string, string>
  instanceId?: string
  instanceName?: string
  settings?: Partial<Settings>
  /** 2 speaks as B2 of the page, 1 as B1. */
  generation?: 1 | 2
  clock?: { now(): number }
  /** By hand: only `tick`, `rotationTick` and the like do anything. */
  timers?: 'manual' | Partial<Timers>
  probeDelaysMs?: number[]
  timeoutsMs?: Partial<Timeouts>
  newSecret?: () => string
  newNonce?: () => string
}

export const usualTimers: Timers = { outboxMs: 1000, quarterHourMs: 15 * minuteMs, hourMs: 60 * minuteMs }

/** `skew` is added to the clock; a test may move it. */
export function newInstance(options: ReferencePeerOptions, port: number, skew: { ms: number }): Instance {
  const clock = options.clock ?? { now: () => Date.now() }
  const now = () => clock.now() + skew.ms
  const open = { autoAcceptPeering: true, registrationOpen: true, federatedRegistrationOpen: true, limits: true }
  return {
    origin: ownOrigin({ ...options, port }),
    instanceId: options.instanceId ?? randomUUID(),
    instanceName: options.instanceName ?? 'Reference',
    generation: options.generation ?? 1,
    settings: { ...open, ...options.settings },
    now,
    addresses: options.resolve ?? new Map(),
    ...emptyState(),
    timeoutsMs: { message: 10_000, deletion: 15_000, relay: 30_000, ...options.timeoutsMs },
    probeDelaysMs: options.probeDelaysMs ?? [minuteMs / 2, minuteMs, 5 * minuteMs, 15 * minuteMs],
    log: [],
    faults: [],
    background: new Set(),
    inService: new Set(),
    stopping: new AbortController(),
    newSecret: options.newSecret ?? (() => randomBytes(32).toString('hex')),
    newNonce: options.newNonce ?? (() => randomUUID()),
    newId: snowflakes(now),
  }
}

/** What is lost with the database, and with it the instanceId. */
export function emptyState() {
  return {
    peers: new Map(),
    requests: new Map(),
    outbox: [],
    users: new Map(),
    nonces: new Map(),
    countedRequests: new Map(),
  } satisfies Partial<Instance>
}

/** 42 bits of milliseconds since 2024, 10 of a worker, 12 of a sequence. wire: 1, ids */
function snowflakes(now: () => number): () => string {
  const worker = BigInt(randomBytes(2).readUInt16BE() & 1023)
  let sequence = 0n
  return () => {
    sequence = (sequence + 1n) & 4095n
    return ((BigInt(now() - Date.UTC(2024, 0, 1)) << 22n) | (worker << 12n) | sequence).toString()
  }
}
