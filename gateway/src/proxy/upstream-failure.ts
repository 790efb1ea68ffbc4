import { refuse, type Refusal } from '@gatehouse/runtime'

/** `unreached`: the service cannot have seen the request. `broken`: the response is incomplete. */
export type FailureKind = 'unreached' | 'timeout' | 'broken'

const connectErrors = new Set(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])
const timeoutErrors = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

export function kindOfFailure(error: unknown, wasSent: boolean): FailureKind {
  const code = codeOf(error)
  if (!wasSent || connectErrors.has(code)) return 'unreached'
  return timeoutErrors.has(code) ? 'timeout' : 'broken'
}

/** Contract: 1. */
export function upstreamRefusal(kind: FailureKind): Refusal {
  if (kind === 'timeout') return refuse.gateway_timeout({ headers: { 'Retry-After': '5' } })
  if (kind === 'broken') return refuse.bad_gateway()
  return refuse.unavailable({ headers: { 'Retry-After': '1' } })
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  return 'code' in error ? String(error.code) : ''
}
