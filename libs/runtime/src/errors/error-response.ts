import { Refusal, refuse } from './refusal.ts'
import { Unavailable } from './unavailable.ts'

/** A `fault` is logged in full. */
export type ErrorResponse = { refusal: Refusal; fault: boolean }

/** An unavailable dependency is 503 with Retry-After, a fault 500 without a detail. Spec: Errors; Contract: 1. */
export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof Refusal) return { refusal: error, fault: error.status === 500 }
  if (!(error instanceof Unavailable)) return { refusal: refuse.internal({ cause: error }), fault: true }
  const headers = { 'Retry-After': String(error.retryAfterSeconds) }
  return { refusal: refuse.unavailable({ headers, cause: error }), fault: true }
}
