// The entry `@gatehouse/client/proof`: only registrations at instances that ask for a proof of work need it.
import type { Api, CallOptions } from '../api/api.ts'
import type { ProofChallenge } from '../api/records.ts'
import { solve, type OnProgress, type Solution } from './solve.ts'
import type { WorkerAnswer } from './worker.ts'

export type ProofOptions = CallOptions & {
  /** A blocked network is told before the work. */
  registration?: 'local' | undefined
  /** How much is done at most, from 0 to 1: it may end earlier. */
  onProgress?: OnProgress | undefined
}

/** `crypto.subtle` is missing: the page is not of a secure context, such as https or localhost. */
export class ProofImpossible extends Error {
  override readonly name = 'ProofImpossible'
}

/**
 * Asks the instance for a challenge and solves it, in a worker where there are workers. The result is good as the `proof` of one
 * registration, for two minutes. Throws as `client.call`, and ProofImpossible. Contract: 3, Proof of work.
 */
export async function solveProof({ call }: Pick<Api, 'call'>, options: ProofOptions = {}): Promise<string> {
  if (!(crypto as Partial<Crypto>).subtle) throw new ProofImpossible('A proof of work needs a page of https')
  const challenge = await call('proofChallenge', {
    query: { registration: options.registration },
    signal: options.signal,
  })
  const solution = await (typeof Worker === 'function' ? solveInWorker : solve)(challenge, options)
  return btoa(JSON.stringify({ challenge, solution }))
}

async function solveInWorker(challenge: ProofChallenge, options: ProofOptions): Promise<Solution> {
  const { signal, onProgress } = options
  signal?.throwIfAborted()
  let worker: Worker
  try {
    worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  } catch {
    return await solve(challenge, options)
  }
  const answered = new Promise<Solution | null>((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new DOMException('Aborted', 'AbortError')), { once: true })
    // A content security policy, or a file that is missing.
    worker.addEventListener('error', () => resolve(null))
    worker.addEventListener('message', ({ data }: MessageEvent<WorkerAnswer>) => {
      if ('share' in data) onProgress?.(data.share)
      else if ('solution' in data) resolve(data.solution)
      else resolve(null)
    })
  })
  worker.postMessage(challenge)
  const solution = await answered.finally(() => worker.terminate())
  return solution ?? (await solve(challenge, options))
}
