import { readFile } from 'node:fs/promises'
import { isatty } from 'node:tty'
import type { Log } from '../log/log.ts'
import { ConfigurationError } from './configuration.ts'

export type FileWatch<T> = Disposable & {
  readonly current: T
  /** Returns what ends it. */
  onChange(listener: (current: T) => void): () => void
}

/** `names`: of what the file declares, for the log. */
type WatchOptions<T> = { log: Log; what: string; names: (value: T) => readonly string[] }

/** Reads a file, and again on each SIGHUP. The first fault throws, later ones change nothing. */
export async function watchFile<T>(
  read: () => Promise<T>,
  { log, what, names }: WatchOptions<T>,
): Promise<FileWatch<T>> {
  let current = await read()
  const listeners = new Set<(current: T) => void>()

  async function readAgain(): Promise<void> {
    try {
      current = await read()
      for (const listener of listeners) listener(current)
      log.info({ [what]: names(current) }, `${what} read again`)
    } catch (err) {
      log.error({ err }, `${what} not read: those of before stay in force`)
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
    get current(): T {
      return current
    },
    onChange: (listener) => {
      listeners.add(listener)
      return (): void => void listeners.delete(listener)
    },
    [Symbol.dispose]: (): void => {
      process.off('SIGHUP', onSignal)
      listeners.clear()
    },
  }
}

/** YAML or JSON. `variable` names the file. Throws ConfigurationError. */
export async function readYaml(path: string, variable: string): Promise<unknown> {
  const failed = (what: string, cause: unknown) => new ConfigurationError([`${variable}: ${what}`], { cause })
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw failed('cannot read the file that it names; check its path and permissions', cause)
  })
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { prettyErrors: true })
  const faults = document.errors.map(({ message }) => message.split('\n')[0]?.replace(/:$/, ''))
  if (faults.length > 0) throw new ConfigurationError(faults.map((fault) => `${variable}: ${fault}`))
  try {
    return document.toJS()
  } catch (cause) {
    throw failed(`cannot be read: ${String(cause)}`, cause)
  }
}

/** `upstreams[0].routes[1].prefix: `, or the name of the variable. */
export function placeOf(path: readonly PropertyKey[], variable: string): string {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return `${place.replace(/^\./, '') || variable}: `
}
