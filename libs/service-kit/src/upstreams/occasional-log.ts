import type { Timer } from '@gatehouse/runtime'
import type { Log } from '../log/log.ts'

const repeatedFaultMs = 60_000
type LogDeps = { log: Pick<Log, 'warn'>; timer: Pick<Timer, 'now'> }

/** Writes each kind once a minute, with the number of the others. */
export class OccasionalLog {
  readonly #deps: LogDeps
  readonly #kinds = new Map<string, { nextAt: number; suppressed: number }>()

  constructor(deps: LogDeps) {
    this.#deps = deps
  }

  /** Every value of `kind` is kept. */
  warn(kind: string, fields: object, message: string): void {
    const { log, timer } = this.#deps
    const now = timer.now()
    const known = this.#kinds.get(kind) ?? { nextAt: 0, suppressed: 0 }
    this.#kinds.set(kind, known)
    if (now < known.nextAt) return void (known.suppressed += 1)
    log.warn({ ...fields, ...(known.suppressed > 0 && { suppressed: known.suppressed }) }, message)
    known.nextAt = now + repeatedFaultMs
    known.suppressed = 0
  }
}
