import { isatty } from 'node:tty'
import type { Upstream } from '@gatehouse/contracts'
import type { Log } from '../log/log.ts'
import { readUpstreams } from './read-upstreams.ts'

type Listener = (upstreams: readonly Upstream[]) => void

/** The further services behind the gateway that are in force. */
export type UpstreamsWatch = Disposable & {
  readonly current: readonly Upstream[]
  /** Calls `listener` with what is in force after each change. Gives the function that ends that. */
  onChange(listener: Listener): () => void
}

/** Where no file is named: no further services, and never any. */
export const noUpstreams: UpstreamsWatch = {
  current: [],
  onChange: () => () => undefined,
  [Symbol.dispose]: () => undefined,
}

/**
 * Reads the file, and again on each SIGHUP. A file with faults is logged with all of them, and what was in force before
 * stays. Throws ConfigurationError when the first read finds faults. Contract: 8, GATEHOUSE_UPSTREAMS.
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

  // One after the other, so that the file as it is after the last signal is what is in force.
  let reading = Promise.resolve()
  const wasOnTerminal = isatty(process.stdout.fd)
  const onSignal = (): void => {
    // A terminal that is closed sends it too, and what was started there stops as without this listener.
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
