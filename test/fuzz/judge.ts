import type { RequestCase } from './requests.ts'
import type { Answer } from './send-request.ts'

/** What no answer may hold: places in the code, statements, and messages of the runtime and the database. */
const internals =
  /node_modules|\/src\/|\bat \w.*:\d+:\d+|\bselect\b.*\bfrom\b.*\bwhere\b|ECONN|TypeError|MikroORM|pg_catalog/i

/** Why an answer breaks the contract; undefined when it does not.  */
export function judgeAnswer(request: RequestCase, { statuses, headers, body }: Answer): string | undefined {
  const bad = statuses.find((status) => status >= 500 && !isReasoned(status, request, headers))
  if (bad !== undefined) return `status ${bad}: ${body.slice(0, 300)}`
  const [status = 0] = statuses
  if (request.bytes) return undefined
  if (status >= 400 && request.method !== 'HEAD') {
    if (internals.test(body)) return `status ${status} shows internals: ${body.slice(0, 300)}`
    return judgeErrorBody(status, body)
  }
  return undefined
}

/** A limit or a dependency with the time to wait for it, or a peer that broke off or was late. */
function isReasoned(status: number, { callsPeers }: RequestCase, headers: Answer['headers']): boolean {
  if (status === 503) return headers['retry-after'] !== undefined
  return callsPeers && (status === 502 || status === 504)
}

function judgeErrorBody(status: number, text: string): string | undefined {
  try {
    const body = JSON.parse(text) as { error?: unknown; statusCode?: unknown }
    if (body.statusCode === status && typeof body.error === 'string') return undefined
  } catch {
    // Falls through: it is no JSON.
  }
  return `status ${status} without the error body: ${text.slice(0, 300)}`
}

/** Lines of the instance's log. */
export type LogLine = { level?: unknown; msg?: unknown; err?: unknown; [field: string]: unknown }

const busyEndings = ['due to lock timeout', 'timeout exceeded when trying to connect']

/**
 * What a line of the log says of the instance. `busy` is a lock or a connection of the pool that was not to be had within
 * its limit, for which a request is answered with 503 and the time to wait: on a machine without free time that is no fault.
 */
export function judgeLogLine(line: LogLine): 'fine' | 'busy' | 'fault' {
  if (Number(line.level) < 50) return 'fine'
  const { type, message } = (line.err ?? {}) as { type?: unknown; message?: unknown }
  const isBusy = type === 'DatabaseUnavailable' && busyEndings.some((ending) => String(message).endsWith(ending))
  return isBusy ? 'busy' : 'fault'
}
