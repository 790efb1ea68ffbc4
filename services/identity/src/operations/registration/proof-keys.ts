import { hkdfSync } from 'node:crypto'

/** Of the challenge, and of the key that solves it. The first pair signs. */
export type ProofKeys = readonly { hmacSignatureSecret: string; hmacKeySignatureSecret: string }[]

/** Challenges of previous secrets count until they expire. Contract: 8, ENCRYPTION_SECRET. */
export function createProofKeys(secret: string, previous: readonly string[] = []): ProofKeys {
  return [secret, ...previous].map((text) => {
    const keys = Buffer.from(hkdfSync('sha256', text, '', 'gatehouse proof of work', 64)).toString('hex')
    return { hmacSignatureSecret: keys.slice(0, 64), hmacKeySignatureSecret: keys.slice(64) }
  })
}
