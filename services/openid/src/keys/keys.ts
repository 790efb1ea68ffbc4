import type { JWTPayload } from 'jose'
import type { Deps } from '../deps.ts'

export type PublicKeys = { keys: Record<string, unknown>[] }

/** The keys with which the instance signs for applications. */
export type SigningKeyring = {
  /** With the key in force, as the issuer. `typ` as in `logout+jwt`, `secevent+jwt`. */
  sign(payload: JWTPayload, options: { typ: string; algorithm?: 'EdDSA' | 'RS256' }): Promise<string>
}

export function createKeyring(_deps: Pick<Deps, 'orm' | 'clock' | 'encryptionKey' | 'config'>): SigningKeyring {
  return {
    sign: async () => {
      throw new Error('not there yet')
    },
  }
}
