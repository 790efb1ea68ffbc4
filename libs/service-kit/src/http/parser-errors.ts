import { Refusal, invalidInput, refuse } from '@gatehouse/runtime'

const byStatus: Partial<Record<number, () => Refusal>> = {
  400: () => invalidInput({ field: 'body', reason: 'malformed' }),
  404: () => refuse.not_found(),
  405: () => refuse.method_not_allowed(),
  413: () => refuse.body_too_large(),
  415: () => refuse.unsupported_media_type(),
}

/** Other values stay as they are. Spec: Errors; Contract: 1. */
export function asRefusal(error: unknown): unknown {
  return byStatus[statusOf(error)]?.() ?? error
}

/** The form parser marks client faults with `httpCode`. */
export function asFormRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !('httpCode' in error)) return error
  if (error.httpCode === 413) return refuse.body_too_large({ cause: error })
  return invalidInput({ field: 'body', reason: 'malformed' }, { cause: error })
}

function statusOf(error: unknown): number {
  if (!(error instanceof Error) || error instanceof Refusal) return 0
  return 'status' in error ? Number(error.status) : 0
}
