import { commonErrors } from './common-errors.ts'
import { Refusal } from './refusal.ts'
import { Unavailable } from './unavailable.ts'

/** The answer to a thrown value. A `fault` is logged in full: the request does not explain it. */
export type ErrorResponse = { refusal: Refusal; fault: boolean }

/**
 * The one mapping from errors to answers, for HTTP, the gateway and the bus: a refusal is itself, an unavailable
 * dependency 503 with Retry-After, everything else 500 without a detail. Spec: Errors; Contract: 1.
 */
export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof Refusal) return { refusal: error, fault: error.status === 500 }
  if (!(error instanceof Unavailable)) return { refusal: commonErrors.internal({ cause: error }), fault: true }
  const headers = { 'Retry-After': String(error.retryAfterSeconds) }
  return { refusal: commonErrors.unavailable({ headers, cause: error }), fault: true }
}
