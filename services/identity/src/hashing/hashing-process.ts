import bcrypt from 'bcrypt'
import { serveJobs } from '../child-process/serve-jobs.ts'

export type Work = { password: string } & ({ kind: 'hash'; cost: number } | { kind: 'compare'; hash: string })

/** Gives a hash, or whether the password fits. */
export type Job = Work & { id: number }

serveJobs(async (job: Job) =>
  job.kind === 'hash' ? await bcrypt.hash(job.password, job.cost) : await bcrypt.compare(job.password, job.hash),
)
