import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { namedObject, requiredText, snowflake, timestampMs } from './text.ts'

// The forms in JSON of https://www.w3.org/TR/webauthn-3/, which browsers read and write. Contract: 3, Passkeys.

const bytes = z.string().regex(/^[\w-]+$/, { error: 'must be base64url' })
const type = z.literal('public-key')
const credential = { id: bytes, rawId: bytes, type }

export const requestOptions = z
  .object({ challenge: z.string(), timeout: z.number(), rpId: z.string(), userVerification: z.literal('required') })
  .meta({ id: 'PasskeyRequestOptions' })

export const creationOptions = namedObject('PasskeyCreationOptions', {
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  challenge: z.string(),
  pubKeyCredParams: z.array(z.object({ type, alg: z.number() })),
  timeout: z.number(),
  excludeCredentials: z.array(z.object({ type, id: z.string() })),
  authenticatorSelection: z.object({
    residentKey: z.literal('required'),
    requireResidentKey: z.literal(true),
    userVerification: z.literal('required'),
  }),
  attestation: z.literal('none'),
})

export const addPasskeyBody = z.object({
  name: requiredText('name', limits.passkeyNameMax),
  response: z
    .object({ ...credential, response: z.object({ clientDataJSON: bytes, attestationObject: bytes }) })
    .meta({ id: 'PasskeyRegistration' }),
})

const assertion = { clientDataJSON: bytes, authenticatorData: bytes, signature: bytes, userHandle: bytes.nullish() }
export const passkeyLoginBody = z.object({
  response: z.object({ ...credential, response: z.object(assertion) }).meta({ id: 'PasskeyAssertion' }),
})

export const passkeyReply = z
  .object({ id: snowflake, name: z.string(), createdAt: timestampMs, lastUsedAt: timestampMs.nullable() })
  .meta({ id: 'Passkey' })
export const passkeysReply = z.object({ passkeys: z.array(passkeyReply) })
