export { parseCidrs, parseResolve, type OutboundConfig, type ResolveTable } from './addresses.ts'
export * from './outbound.ts'
export { mayReach, OutboundFailure, type OutboundFailureKind } from './target.ts'
