import { pino } from 'pino'
import type { Logger } from 'pino'

/** A logger of level `trace` that keeps its lines as parsed objects, oldest first. */
export function capturedLog(): { log: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { log, lines }
}
