import { isatty } from 'node:tty'
import type { Upstream } from '@gatehouse/contracts'
import type { Log } from '../log/log.ts'
import { readUpstreams } from './read-upstreams.ts'

type Listener = (upstreams: readonly Upstream[]) => void

export type UpstreamsWatch = Disposable & {
  readonly current: readonly Upstream[]
  /** Returns the function that unsubscribes. */
  onChange(listener: Listener): () => void
}

export const noUpstreams: UpstreamsWatch = {
  current: [],
  onChange: () => () => undefined,
  [Symbol.dispose]: () => undefined,
}

/**
 * Reads the file again on each SIGHUP. A faulty file changes nothing. Throws ConfigurationError on the first read.
 * Contract: 8, GATEHOUSE_UPSTREAMS.
 */
export async function watchUpstreams(path: string, { log }: { log: Log }): Promise<UpstreamsWatch> {
  let current: readonly Upstream[] = await readUpstreams(path)
  const listeners = new Set<Listener>()

  async function readAgain(): Promise<void> {
    try {
      current = await readUpstreams(path)
      for (const listener of listeners) listener(current)
      log.info({ upstreams: current.map(({ name }) => name) }, 'upstreams read again')
    } catch (err) {
      log.error({ err }, 'upstreams not read: those of before stay in force')
    }
  }

  // Reads run in order, so that the last signal wins.
  let reading = Promise.resolve()
  const wasOnTerminal = isatty(process.stdout.fd)
  const onSignal = (): void => {
    // A terminal that is closed sends SIGHUP too.
    if (wasOnTerminal && !isatty(process.stdout.fd)) return void process.kill(process.pid, 'SIGTERM')
    reading = reading.then(readAgain)
  }
  process.on('SIGHUP', onSignal)
  return {
    get current() {
      return current
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    [Symbol.dispose]: () => {
      process.off('SIGHUP', onSignal)
      listeners.clear()
    },
  }
}
