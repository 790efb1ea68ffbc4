import { ApiError, type Client } from '@gatehouse/client'
import { useState } from 'react'
import { t } from './language/language.ts'

/** Sends a registration, with a proof of work where the instance wants one. `done`: null while none is being made. */
export function useProof() {
  const [done, setDone] = useState<number | null>(null)
  const send = async <T>(
    client: Client,
    { isAsked, signal }: { isAsked: boolean; signal: AbortSignal },
    register: (proof?: string) => Promise<T>,
  ): Promise<T> => {
    const prove = async () => {
      setDone(0)
      try {
        const { ProofImpossible, solveProof } = await import('@gatehouse/client/proof')
        return await solveProof(client, { registration: 'local', signal, onProgress: setDone }).catch(
          (error: unknown) => {
            if (!(error instanceof ProofImpossible)) throw error
            throw new ApiError(403, t('To create an account, open this instance over https, or use an invite.'))
          },
        )
      } finally {
        setDone(null)
      }
    }
    const first = isAsked ? await prove() : undefined
    try {
      return await register(first)
    } catch (error) {
      // The setting is newer than the page, or the challenge has expired.
      if (!/^proof_/.test((error as { code?: string | null }).code ?? '')) throw error
      return await register(await prove())
    }
  }
  return { done, send }
}
