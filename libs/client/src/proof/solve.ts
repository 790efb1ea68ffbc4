import { solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'
import type { ProofChallenge } from '../api/records.ts'

export type Solution = { counter: number; derivedKey: string }

/** In parts of 1. The server chooses a counter of at most `counterMax`. */
export type OnProgress = (share: number) => void

/** In this thread, whose events go on. Throws an AbortError. */
export async function solve(
  challenge: ProofChallenge,
  { signal, onProgress }: { signal?: AbortSignal | undefined; onProgress?: OnProgress | undefined },
): Promise<Solution> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  signal?.throwIfAborted()
  signal?.addEventListener('abort', abort, { once: true })
  let tried = 0
  const solution = await solveChallenge({
    challenge,
    controller,
    deriveKey: (...key) => {
      tried += 1
      onProgress?.(Math.min(1, tried / challenge.parameters.data.counterMax))
      return deriveKey(...key)
    },
  }).finally(() => signal?.removeEventListener('abort', abort))
  if (!solution) throw new DOMException('Aborted', 'AbortError')
  return { counter: solution.counter, derivedKey: solution.derivedKey }
}
