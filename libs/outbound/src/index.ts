export * from './outbound.ts'
export * from './outbound-failure.ts'
export { parseCidrs, parseResolve } from './reach.ts'
export type { ResolveTable } from './resolve-table.ts'
