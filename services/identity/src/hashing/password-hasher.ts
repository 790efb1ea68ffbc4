import { fitsHash } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import type { Log, Metrics } from '@gatehouse/service-kit'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'
import { startHashingChild } from './hashing-child.ts'
import type { Job, JobResult } from './job.ts'

export type PasswordHasher = AsyncDisposable & {
  /** A salted hash of a password. Throws hashing_busy when too many wait, unavailable when the process is lost. */
  hash(password: string): Promise<string>
  /** Whether a password fits a hash; an overlong one never does, after the same work. Throws as `hash` does. */
  verify(password: string, hash: string): Promise<boolean>
  /** How many wait for a thread. */
  waiting(): number
  /** Whether there is a process that hashes, for /readyz. */
  ready(): boolean
}

type Work = { job: Job; resolve(value: string | boolean): void; reject(error: Error): void }
type JobWithoutId = Job extends infer J ? (J extends Job ? Omit<J, 'id'> : never) : never
type Options = { threads: number; queue: number; log: Log; metrics: Metrics }

/**
 * Hashes in a process of its own at the lowest priority, so that a flood of logins leaves other requests their time.
 * `threads` run at once, `queue` more may wait; beyond that callers are told to come again. Design: invariant 5.
 */
export function startPasswordHasher({ threads, queue: longest, log, metrics }: Options): PasswordHasher {
  const waiting: Work[] = []
  const underWay = new Map<number, Work>()
  let jobs = 0
  let closed = false
  const child = startHashingChild({
    threads,
    log,
    onResult: finish,
    onEnd: (useful) => giveUp(useful ? takeUnderWay() : [...takeUnderWay(), ...waiting.splice(0)]),
    onReplaced: startNext,
  })
  metrics.gauge('gatehouse_hashing_waiting', 'Passwords that wait for a hashing thread', () => waiting.length)

  function takeUnderWay(): Work[] {
    const lost = [...underWay.values()]
    underWay.clear()
    return lost
  }

  function finish(result: JobResult): void {
    const work = underWay.get(result.id)
    underWay.delete(result.id)
    startNext()
    if ('failure' in result) work?.reject(new Error(result.failure))
    else work?.resolve(result.value)
  }

  function startNext(): void {
    while (underWay.size < threads && waiting.length > 0 && child.ready()) {
      const work = waiting.shift()!
      underWay.set(work.job.id, work)
      child.start(work.job)
    }
  }

  async function enqueue(job: JobWithoutId): Promise<string | boolean> {
    if (closed) throw lost()
    if (waiting.length >= longest) throw refuse.hashing_busy({ headers: retryAfter(policy.hashingRetryAfterSeconds) })
    jobs += 1
    const id = jobs
    return await new Promise((resolve, reject) => {
      waiting.push({ job: { ...job, id } as Job, resolve, reject })
      startNext()
    })
  }

  return {
    hash: async (password) => (await enqueue({ kind: 'hash', password, cost: policy.hashCost })) as string,
    verify: async (password, hash) => {
      const fits = (await enqueue({ kind: 'compare', password, hash })) as boolean
      return fits && fitsHash(password)
    },
    waiting: () => waiting.length,
    ready: () => child.ready(),
    [Symbol.asyncDispose]: async () => {
      closed = true
      giveUp([...takeUnderWay(), ...waiting.splice(0)])
      await child[Symbol.asyncDispose]()
    },
  }
}

function giveUp(works: readonly Work[]): void {
  for (const work of works) work.reject(lost())
}

const lost = () => commonErrors.unavailable({ headers: retryAfter(1) })
const retryAfter = (seconds: number) => ({ 'Retry-After': String(seconds) })
