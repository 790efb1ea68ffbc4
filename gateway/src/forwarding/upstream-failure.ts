import { commonErrors, defineErrors, type Refusal } from '@gatehouse/runtime'

const failures = defineErrors({
  bad_gateway: {
    status: 502,
    message: 'The service broke off. The request may have been carried out: check before you repeat it',
  },
  gateway_timeout: {
    status: 504,
    message: 'The service did not answer in time. The request may have been carried out: check before you repeat it',
  },
})

/** Errors after which it is certain that the service saw nothing of the request. */
const unreached = new Set(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])
const late = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

export type FailureKind = 'unreached' | 'late' | 'broken'

export function kindOfFailure(error: unknown, wasSent: boolean): FailureKind {
  const code = codeOf(error)
  if (!wasSent || unreached.has(code)) return 'unreached'
  return late.has(code) ? 'late' : 'broken'
}

/** What the client is told, with what it can do. Contract: 1. */
export function refusalOf(kind: FailureKind): Refusal {
  if (kind === 'late') return failures.gateway_timeout({ headers: { 'Retry-After': '5' } })
  if (kind === 'broken') return failures.bad_gateway()
  return commonErrors.unavailable({ headers: { 'Retry-After': '1' } })
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  return 'code' in error ? String(error.code) : ''
}
