import { startSupervisedChild, type JobResult } from '@gatehouse/child-process'
import { refuse } from '@gatehouse/runtime'
import { siteNetwork, type Log, type Metrics } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import type { Job, Work } from './hashing-process.ts'

export type PasswordHasher = AsyncDisposable & {
  /** One network holds at most a quarter of the queue. Throws hashing_busy, unavailable. */
  hash(password: string, address: string): Promise<string>
  /** An overlong password never fits, after the same work. Throws as `hash` does. */
  verify(password: string, hash: string, address: string): Promise<boolean>
  waiting(): number
  ready(): boolean
  /** What still waits after `limitMs`, and what comes later, is refused with hashing_busy. */
  drain(limitMs: number): void
}

type Value = string | boolean
type QueuedJob = { job: Job; network: string; resolve(value: Value): void; reject(error: Error): void }
type HasherOptions = { threads: number; queue: number; cost?: number; log: Log; metrics: Metrics }

/** A process of the lowest priority hashes: a flood of logins leaves other requests their time. Design: invariant 5. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function startPasswordHasher(options: HasherOptions): PasswordHasher {
  const { threads, queue: capacity, cost = policy.hashCost, log, metrics } = options
  const queue: QueuedJob[] = []
  /** In the order of sending. The first `threads` run. */
  const jobsInProcess = new Map<number, QueuedJob>()
  const shareOfNetwork = Math.max(1, Math.floor(capacity * policy.hashingShareOfNetwork))
  let lastId = 0
  let closed = false
  let refusing: NodeJS.Timeout | true | undefined
  const child = startSupervisedChild<Value>({
    name: 'hashing',
    program: new URL('./hashing-process.ts', import.meta.url),
    heapMib: 64,
    environment: { UV_THREADPOOL_SIZE: String(threads) },
    restartDelayMs: policy.hashingRestartDelayMs,
    log,
    onResult: finish,
    onEnd: (completedAny) => {
      const retained = completedAny ? takeWaiting() : []
      rejectAll()
      queue.push(...retained)
    },
    onReplaced: startNext,
  })
  metrics.gauge('gatehouse_hashing_waiting', 'Passwords that wait for a hashing thread', () => waiting().length)

  const waiting = (): QueuedJob[] => [...[...jobsInProcess.values()].slice(threads), ...queue]

  function takeWaiting(): QueuedJob[] {
    const takenJobs = waiting()
    queue.length = 0
    for (const { job } of takenJobs) jobsInProcess.delete(job.id)
    return takenJobs
  }

  function rejectAll(): void {
    const jobs = [...jobsInProcess.values(), ...queue.splice(0)]
    jobsInProcess.clear()
    for (const { reject } of jobs) reject(processEnded())
  }

  function finish(result: JobResult<Value>): void {
    const finished = jobsInProcess.get(result.id)
    jobsInProcess.delete(result.id)
    startNext()
    if ('failure' in result) finished?.reject(new Error(result.failure))
    else finished?.resolve(result.value)
  }

  function startNext(): void {
    while (jobsInProcess.size < threads + policy.hashingAhead && child.ready()) {
      const next = queue.shift()
      if (!next) return
      jobsInProcess.set(next.job.id, next)
      child.start(next.job)
    }
  }

  async function enqueue(work: Work, address: string): Promise<Value> {
    if (closed) throw processEnded()
    const network = siteNetwork(address) ?? address
    const before = waiting()
    const beforeOfNetwork = before.filter((ahead) => ahead.network === network).length
    if (refusing === true || before.length >= capacity || beforeOfNetwork >= shareOfNetwork) throw busy()
    lastId += 1
    const job = { ...work, id: lastId }
    return await new Promise((resolve, reject) => {
      queue.push({ job, network, resolve, reject })
      startNext()
    })
  }

  return {
    hash: async (password, address) => {
      return (await enqueue({ kind: 'hash', password, cost }, address)) as string
    },
    verify: async (password, hash, address) => {
      return (await enqueue({ kind: 'compare', password, hash }, address)) as boolean
    },
    waiting: () => waiting().length,
    ready: () => child.ready(),
    drain: (limitMs) => {
      refusing ??= setTimeout(() => {
        refusing = true
        for (const { reject } of takeWaiting()) reject(busy())
      }, limitMs).unref()
    },
    [Symbol.asyncDispose]: async () => {
      closed = true
      if (refusing !== true) clearTimeout(refusing)
      rejectAll()
      await child[Symbol.asyncDispose]()
    },
  }
}

const busy = () => refuse.hashing_busy({ headers: retryAfter(policy.hashingRetryAfterSeconds) })
const processEnded = () => refuse.unavailable({ headers: retryAfter(1) })
const retryAfter = (seconds: number) => ({ 'Retry-After': String(seconds) })
