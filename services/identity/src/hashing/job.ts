/** What the service asks the hashing process. */
export type Job = { id: number; password: string } & (
  { kind: 'hash'; cost: number } | { kind: 'compare'; hash: string }
)

/** What it answers: a hash, or whether the password fits. */
export type JobResult = { id: number } & ({ value: string | boolean } | { failure: string })
