import bcrypt from 'bcrypt'
import { serveJobs, type JobResult as ResultOf } from '../child-process/serve-jobs.ts'

export type Job = { id: number; password: string } & (
  { kind: 'hash'; cost: number } | { kind: 'compare'; hash: string }
)

/** A hash, or whether the password fits. */
export type JobResult = ResultOf<string | boolean>

serveJobs(async (job: Job) =>
  job.kind === 'hash' ? await bcrypt.hash(job.password, job.cost) : await bcrypt.compare(job.password, job.hash),
)
