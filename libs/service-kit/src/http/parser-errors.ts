import { Refusal, commonErrors } from '@gatehouse/runtime'

/** What the parsers of Koa, co-body and zlib find wrong with a request, by status; their own messages are for the log. */
const byStatus: Partial<Record<number, () => Refusal>> = {
  400: () => commonErrors.invalid_input({ message: 'Malformed request body' }),
  404: () => commonErrors.not_found(),
  405: () => commonErrors.method_not_allowed(),
  413: () => commonErrors.body_too_large(),
  415: () => commonErrors.unsupported_media_type(),
}

/** The refusal that a parser's error amounts to; every other value as it is. Spec: Errors; Contract: 1. */
export function asRefusal(error: unknown): unknown {
  return byStatus[statusOf(error)]?.() ?? error
}

/** The form parser marks the client's faults by `httpCode`; a client that disconnected is one of them. */
export function asFormRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !('httpCode' in error)) return error
  if (error.httpCode === 413) return commonErrors.body_too_large({ cause: error })
  return commonErrors.invalid_input({ message: 'Malformed form', cause: error })
}

/** A refusal keeps its own status. zlib gives none to a body that is no valid compressed data. */
function statusOf(error: unknown): number {
  if (!(error instanceof Error) || error instanceof Refusal) return 0
  if ('code' in error && String(error.code).startsWith('Z_')) return 400
  return 'status' in error ? Number(error.status) : 0
}
