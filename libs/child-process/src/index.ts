export type { JobResult } from './serve-jobs.ts'
export { startSupervisedChild } from './supervised-child.ts'
