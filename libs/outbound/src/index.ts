export { parseCidrs, parseResolve, type OutboundConfig, type ResolveTable } from './addresses.ts'
export * from './outbound.ts'
export { OutboundFailure, type OutboundFailureKind } from './target.ts'
