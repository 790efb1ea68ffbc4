import { accountRows } from './account-rows.ts'
import { adminRows } from './admin-rows.ts'
import { userRows } from './client-rows.ts'
import { peerRows } from './peer-rows.ts'

export { accountRows } from './account-rows.ts'
export { adminRows } from './admin-rows.ts'
export { userRows } from './client-rows.ts'
export { peerRows } from './peer-rows.ts'
export type { Access, EndpointRow, ServiceName } from './row.ts'

/** The endpoints that clients call. */
export const clientRows = { ...userRows, ...accountRows, ...adminRows }

/** The public API without schemas and rate limits. Loads no other package. */
export const endpointTable = { ...clientRows, ...peerRows }
/** What the gateway answers itself. */
export const gatewayPaths = ['/api/health', '/api/openapi.json', '/api/docs', '/api/upstream-keys'] as const

export type ClientEndpointName = keyof typeof clientRows
export type EndpointName = keyof typeof endpointTable
