import bcrypt from 'bcrypt'
import { serveJobs } from '@gatehouse/child-process/serve-jobs'
import { fitsInAForm, hashedForm } from './password-forms.ts'

export type Work = { password: string } & ({ kind: 'hash'; cost: number } | { kind: 'compare'; hash: string })

/** Gives a hash, or whether the password fits. */
export type Job = Work & { id: number }

serveJobs(async (job: Job) => {
  if (job.kind === 'hash') return await bcrypt.hash(hashedForm(job.password), job.cost)
  return await fitsInAForm(job.password, (form) => bcrypt.compare(form, job.hash))
})
