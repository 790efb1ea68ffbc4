// How the configuration says whom requests may reach: without the client library, which takes long to load.
export { parseCidrs } from './addresses.ts'
export type { OutboundConfig } from './outbound.ts'
export { parseResolve } from './resolve-table.ts'
