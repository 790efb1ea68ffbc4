/** What a child process gives back for a job: its value, or that it failed. */
export type JobResult<Value> = { id: number } & ({ value: Value } | { failure: string })
