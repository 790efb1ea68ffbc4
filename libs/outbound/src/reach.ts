// The client library is slow to load.
export { parseCidrs, parseResolve } from './addresses.ts'
export type { OutboundConfig } from './outbound.ts'
export { resolveAddresses } from './target.ts'
