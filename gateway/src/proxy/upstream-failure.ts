import { commonErrors, defineErrors, type Refusal } from '@gatehouse/runtime'

const upstreamErrors = defineErrors({
  bad_gateway: {
    status: 502,
    message: 'The service broke off. The request may have been carried out: check before you repeat it',
  },
  gateway_timeout: {
    status: 504,
    message: 'The service did not answer in time. The request may have been carried out: check before you repeat it',
  },
})

/** `unreached`: the service cannot have seen the request. `broken`: the connection ended before the response did. */
export type FailureKind = 'unreached' | 'timeout' | 'broken'

const connectErrors = new Set(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])
const timeoutErrors = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

export function kindOfFailure(error: unknown, wasSent: boolean): FailureKind {
  const code = codeOf(error)
  if (!wasSent || connectErrors.has(code)) return 'unreached'
  return timeoutErrors.has(code) ? 'timeout' : 'broken'
}

/** What the client is answered: also whether the request can be repeated safely. Contract: 1. */
export function upstreamRefusal(kind: FailureKind): Refusal {
  if (kind === 'timeout') return upstreamErrors.gateway_timeout({ headers: { 'Retry-After': '5' } })
  if (kind === 'broken') return upstreamErrors.bad_gateway()
  return commonErrors.unavailable({ headers: { 'Retry-After': '1' } })
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  return 'code' in error ? String(error.code) : ''
}
