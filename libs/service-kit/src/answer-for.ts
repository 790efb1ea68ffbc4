import { commonErrors, isRefusal, type Refusal } from '@gatehouse/runtime'

/** Faults that Koa's parsers report by status; their own texts stay inside. */
const byStatus: Record<number, () => Refusal> = {
  400: () => commonErrors.invalid_input({ message: 'Malformed request body' }),
  404: () => commonErrors.not_found(),
  405: () => commonErrors.method_not_allowed(),
  413: () => commonErrors.body_too_large(),
  415: () => commonErrors.unsupported_media_type(),
}

/** Dependencies that are away: the client may come again. */
const passing = new Set([
  'BusUnavailable',
  'StoreUnavailable',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'ETIMEDOUT',
  '57P01', // the database is shutting down
  '57P02',
  '57P03', // it is starting up
  '08006',
  '08003',
  '53300', // it has no connection left
])

/** The database driver tells these by their texts only. */
const lostConnection = /Connection terminated|timeout exceeded when trying to connect|is not queryable/

/** The refusal a thrown value amounts to, and whether it is a fault that somebody looks at. Spec: Errors; Contract: 1. */
export function answerFor(error: unknown): { refusal: Refusal; fault: boolean } {
  if (isRefusal(error)) return { refusal: error, fault: error.status === 500 }
  if (isPassing(error)) return { refusal: commonErrors.unavailable({ headers: { 'Retry-After': '1' } }), fault: true }
  const status = statusOf(error)
  const known = byStatus[status]
  return known ? { refusal: known(), fault: false } : { refusal: commonErrors.internal(), fault: true }
}

/** The status a parser gave its error; zlib gives none to a body that was compressed into something broken. */
function statusOf(error: unknown): number {
  if (!(error instanceof Error)) return 0
  if ('code' in error && String(error.code).startsWith('Z_')) return 400
  return 'status' in error ? Number(error.status) : 0
}

function isPassing(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (passing.has(cause.name) || ('code' in cause && passing.has(String(cause.code)))) return true
    if (lostConnection.test(cause.message)) return true
    if (cause instanceof AggregateError && cause.errors.some(isPassing)) return true
  }
  return false
}
