import { writeSync } from 'node:fs'
import { logBatchBytes, logBatchMs, logExitMs, logRetryMs, logWaitingBytes } from '../policy.ts'

export type Output = {
  /** Urgent lines are written at once. */
  write(line: string, isUrgent: boolean): void
  /** Waits a bounded time. Only for exit. */
  flushAtExit(): void
  dropped(): number
}

/** Other errors may pass, such as a full disk. */
const gone: ReadonlySet<unknown> = new Set(['EPIPE', 'EBADF', 'EIO'])
const isGone = (error: unknown): boolean => error instanceof Error && 'code' in error && gone.has(error.code)

/**
 * Batches save system calls. This thread writes, because a crash would lose the lines of another. At most `logWaitingBytes`
 * wait for a slow reader. Later lines are dropped, and `onCaughtUp` gets their number.
 */
export function createOutput(fd: number, onCaughtUp: (dropped: number) => void): Output {
  let lines: string[] = []
  let size = 0
  let rest = Buffer.alloc(0)
  let retry: NodeJS.Timeout | undefined
  let isClosed = false
  let dropped = 0
  let told = 0

  function flush(): void {
    retry = undefined
    rest = lines.length > 0 ? Buffer.concat([rest, Buffer.from(lines.join(''))]) : rest
    lines = []
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (isGone(error)) isClosed = true
      else retry = setTimeout(flush, logRetryMs).unref()
    }
    size = rest.length
    if (size > 0 || isClosed || dropped === told) return
    const count = dropped - told
    told = dropped
    onCaughtUp(count)
  }

  setInterval(() => retry ?? flush(), logBatchMs).unref()
  return {
    write: (line, isUrgent) => {
      if (isClosed || size + line.length > logWaitingBytes) return void (dropped += 1)
      lines.push(line)
      size += line.length
      if (!retry && (isUrgent || size >= logBatchBytes)) flush()
    },
    flushAtExit: () => {
      const until = performance.now() + logExitMs
      const clock = new Int32Array(new SharedArrayBuffer(4))
      for (flush(); rest.length > 0 && !isClosed && performance.now() < until; flush())
        Atomics.wait(clock, 0, 0, logRetryMs)
    },
    dropped: () => dropped,
  }
}
