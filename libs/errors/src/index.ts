export { Refusal, defineErrors, isRefusal } from './refusal.ts'
export type { RefusalBody, RefusalDefinition } from './refusal.ts'
export { commonErrors } from './common-errors.ts'
