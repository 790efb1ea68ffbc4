import { clientRows } from './client-rows.ts'
import { peerRows } from './peer-rows.ts'

export { clientRows } from './client-rows.ts'
export { peerRows } from './peer-rows.ts'
export type { Access, EndpointRow, ServiceName } from './row.ts'

/** The public API without schemas and rate limits. Loads no other package. */
export const endpointTable = { ...clientRows, ...peerRows }
export type ClientEndpointName = keyof typeof clientRows
export type EndpointName = keyof typeof endpointTable
