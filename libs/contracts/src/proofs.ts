import { z } from 'zod'
import { namedObject } from './text.ts'

/** As altcha-lib makes it. `expiresAt` in seconds; the solution is at most `data.counterMax`. Contract: 3, Proof of work. */
export const proofChallenge = namedObject('ProofChallenge', {
  parameters: z.object({
    algorithm: z.string(),
    cost: z.int(),
    data: z.object({ counterMax: z.int() }),
    expiresAt: z.int(),
    keyLength: z.int(),
    keyPrefix: z.string(),
    keySignature: z.string(),
    nonce: z.string(),
    salt: z.string(),
  }),
  signature: z.string(),
})
export type ProofChallenge = z.infer<typeof proofChallenge>

/** `registration`: `local` learns at once that the client network is blocked. Contract: 3, Approval. */
export const proofChallengeQuery = z.object({ registration: z.enum(['local']).optional().catch(undefined) })

/** What `proof` of a registration holds, as JSON in base64. Strict: the signature covers the parameters and nothing beside them. */
export const proofPayload = z.object({
  challenge: z.object({ parameters: proofChallenge.shape.parameters, signature: z.string() }),
  solution: z.object({ counter: z.int(), derivedKey: z.string() }),
})
