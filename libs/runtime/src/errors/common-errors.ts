import { defineErrors } from './refusal.ts'

/** Refusals of every process. Contract: 1. */
export const commonErrors = defineErrors({
  invalid_input: { status: 400, message: 'Invalid input' },
  unauthorized: { status: 401, message: 'Unauthorized' },
  invalid_token: { status: 401, message: 'Invalid token' },
  token_revoked: { status: 401, message: 'Token has been revoked' },
  account_deleted: { status: 401, message: 'This account has been deleted' },
  forbidden: { status: 403, message: 'Forbidden' },
  admin_required: { status: 403, message: 'Admin access required' },
  not_found: { status: 404, message: 'Not found' },
  method_not_allowed: { status: 405, message: 'Method not allowed' },
  conflict: { status: 409, message: 'Conflict' },
  body_too_large: { status: 413, message: 'Request body too large' },
  unsupported_media_type: { status: 415, message: 'Unsupported content type' },
  internal: { status: 500, message: 'Internal server error' },
  unavailable: { status: 503, message: 'Service temporarily unavailable, please try again' },
})
