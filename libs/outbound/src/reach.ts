// The client library is slow to load.
export { parseCidrs } from './addresses.ts'
export type { OutboundConfig } from './outbound.ts'
export { parseResolve } from './resolve-table.ts'
export { resolveAddresses } from './target.ts'
