import { defineErrors, type Refusal } from '@gatehouse/runtime'

const errors = defineErrors({
  too_many_connections: { status: 503, message: 'Too many connections, please try again' },
  too_many_uploads: { status: 503, message: 'Too many uploads are under way, please try again' },
  busy: { status: 503, message: 'Service temporarily unavailable, please try again' },
})
const headers = { 'Retry-After': '1' }

/** A client network has as many connections or requests under way as it may, or the process has. Contract: 1. */
export const tooManyConnections = (): Refusal => errors.too_many_connections({ headers })
/** An account, a client network or the process has as many uploads under way as it may. Contract: 1. */
export const tooManyUploads = (): Refusal => errors.too_many_uploads({ headers })
/** No connection to the service came free in time. Contract: 1. */
export const busy = (): Refusal => errors.busy({ headers })
