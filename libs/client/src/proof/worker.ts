import type { ProofChallenge } from '../api/records.ts'
import { solve } from './solve.ts'

/** What the worker answers: the last has a solution or an error. */
export type WorkerAnswer = { share: number } | { solution: Awaited<ReturnType<typeof solve>> } | { error: string }

const answer = (message: WorkerAnswer) => postMessage(message)

/** One challenge; who is not interested any more ends the worker. */
addEventListener('message', ({ data }: MessageEvent<ProofChallenge>) => {
  void solve(data, { onProgress: (share) => answer({ share }) }).then(
    (solution) => answer({ solution }),
    (error: unknown) => answer({ error: String(error) }),
  )
})
