import { readFileSync } from 'node:fs'
import { startSupervisedChild, type JobResult } from '@gatehouse/child-process'
import { createFairQueue, refuse } from '@gatehouse/runtime'
import type { Log, Metrics } from '@gatehouse/service-kit'
import { policy } from './policy.ts'
import type { Conversion, ConversionJob } from './conversion-process.ts'

export type ImageConverter = AsyncDisposable & {
  /**
   * Writes a WebP without metadata to `target`, of `crop` alone where it is given. Of an animation it takes the first frame. Returns the size. Throws
   * image_unreadable, image_too_large, image_too_costly, images_busy, unavailable, and may leave a part of the file.
   * Contract: 3, uploads.
   */
  convert(image: Omit<ConversionJob, 'id'> & { userId: string }): Promise<number>
}

type QueuedJob = { job: ConversionJob; resolve(bytes: number): void; reject(error: Error): void }
type ConverterOptions = { log: Log; metrics: Metrics; memoryBytes?: number; seconds?: number }

/** Accounts take turns, one image at a time. What exceeds its memory or time is killed. Design: invariant 5. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function startImageConverter(options: ConverterOptions): ImageConverter {
  const { log, metrics, memoryBytes = policy.imageMemoryBytes, seconds = policy.imageSeconds } = options
  const queue = createFairQueue<QueuedJob>({ capacity: policy.imageQueue, perSource: policy.imagesPerAccount })
  let child: ReturnType<typeof startChild> | undefined
  let running: (QueuedJob & { limit: Disposable }) | undefined
  let lastId = 0
  let closed = false
  metrics.gauge('gatehouse_images_waiting', 'Images that wait to be converted', () => queue.size())

  function startChild() {
    return startSupervisedChild<Conversion>({
      name: 'conversion',
      program: new URL('./conversion-process.ts', import.meta.url),
      heapMib: 64,
      environment: { VIPS_CONCURRENCY: '1' },
      restartDelayMs: policy.imageRestartDelayMs,
      log,
      onResult: finish,
      onEnd: () => takeRunning()?.reject(processEnded()),
      onReplaced: startNext,
    })
  }

  function startNext(): void {
    if (running || queue.size() === 0) return
    child ??= startChild()
    const pid = child.pid()
    if (!child.ready() || pid === undefined) return
    const next = queue.take()
    if (!next) return
    running = { ...next, limit: limitProcess({ pid, memoryBytes, seconds }, kill) }
    child.start(next.job)
  }

  function takeRunning(): QueuedJob | undefined {
    const taken = running
    running = undefined
    taken?.limit[Symbol.dispose]()
    return taken
  }

  function kill(exceeded: 'memory' | 'time'): void {
    const killed = takeRunning()
    child?.replace(`a conversion took too much ${exceeded}`)
    killed?.reject(exceeded === 'memory' ? refuse.image_too_costly() : busy())
  }

  function finish(result: JobResult<Conversion>): void {
    if (running?.job.id !== result.id) return
    const finished = takeRunning()
    startNext()
    if ('failure' in result) finished?.reject(new Error(result.failure))
    else if ('refusal' in result.value) finished?.reject(refuse[result.value.refusal]())
    else finished?.resolve(result.value.bytes)
  }

  return {
    convert: async ({ userId, ...image }) => {
      if (closed) throw processEnded()
      lastId += 1
      const job = { id: lastId, ...image }
      return await new Promise((resolve, reject) => {
        if (!queue.push(userId, { job, resolve, reject })) reject(busy())
        startNext()
      })
    },
    [Symbol.asyncDispose]: async () => {
      closed = true
      takeRunning()?.reject(processEnded())
      for (let job = queue.take(); job; job = queue.take()) job.reject(processEnded())
      await child?.[Symbol.asyncDispose]()
    },
  }
}

const processEnded = () => refuse.unavailable({ headers: { 'Retry-After': '1' } })
const busy = () => refuse.images_busy({ headers: { 'Retry-After': String(policy.imagesRetryAfterSeconds) } })

type Limits = { pid: number; memoryBytes: number; seconds: number }

/** Calls `onExceeded` once. Without /proc only the time is limited. */
function limitProcess(limits: Limits, onExceeded: (what: 'memory' | 'time') => void): Disposable {
  const deadline = performance.now() + limits.seconds * 1_000
  const timer = setInterval(() => {
    const isTooLarge = residentBytes(limits.pid) > limits.memoryBytes
    if (!isTooLarge && performance.now() <= deadline) return
    clearInterval(timer)
    onExceeded(isTooLarge ? 'memory' : 'time')
  }, policy.imageWatchMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Synchronous: procfs answers from memory, in about 20 µs. */
function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024
  } catch {
    return 0
  }
}
