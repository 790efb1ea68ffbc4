import { refuse, type Refusal } from '@gatehouse/runtime'

const headers = { 'Retry-After': '1' }

/** Contract: 1. */
export const tooManyConnections = (): Refusal => refuse.too_many_connections({ headers })
/** Contract: 1. */
export const tooManyUploads = (): Refusal => refuse.too_many_uploads({ headers })
/** Contract: 1. */
export const busy = (): Refusal => refuse.busy({ headers })
