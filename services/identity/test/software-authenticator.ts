import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

const present = 0x01
const verified = 0x04
const backedUp = 0x08 | 0x10
const attested = 0x40

/** What an authenticator, or who pretends to be one, does differently. */
type Differences = {
  origin?: string
  rpId?: string
  isVerified?: boolean
  isBackedUp?: boolean
  counter?: number
  userHandle?: string
}
type Options = Record<string, unknown>

/** A discoverable ES256 key without attestation. Its private key never leaves it, as far as tests go. */
export function createAuthenticator() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(32)
  const { x, y } = publicKey.export({ format: 'jwk' })
  const cose = new Map<number, number | Uint8Array>([
    ...([[1, 2], [3, -7], [-1, 1]] as const), // prettier-ignore
    ...([[-2, fromBase64(x!)], [-3, fromBase64(y!)]] as const), // prettier-ignore
  ])
  let userHandle = ''
  let counter = 0
  const credential = { id: toBase64(id), rawId: toBase64(id), type: 'public-key' }

  const clientData = (type: string, { challenge }: Options, { origin = 'https://here.example' }: Differences) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const authenticatorData = (flags: number, given: Differences, credentialData = Buffer.alloc(0)) => {
    const { rpId = 'here.example', isVerified = true, isBackedUp = false } = given
    const head = Buffer.alloc(5)
    head.writeUInt8(present | (isVerified ? verified : 0) | (isBackedUp ? backedUp : 0) | flags)
    head.writeUInt32BE(given.counter ?? (counter += 1), 1)
    return Buffer.concat([hashOf(rpId), head, credentialData])
  }

  return {
    credential,
    /** Answers `navigator.credentials.create`. */
    create(options: Options, given: Differences = {}) {
      userHandle = (options['user'] as { id: string }).id
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const key = Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(cose)])
      const authData = new Uint8Array(authenticatorData(attested, given, key))
      const attestation = new Map<string, string | Uint8Array | Map<string, string>>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      const clientDataJSON = toBase64(clientData('webauthn.create', options, given))
      return { ...credential, response: { clientDataJSON, attestationObject: toBase64(isoCBOR.encode(attestation)) } }
    },
    /** Answers `navigator.credentials.get`. */
    get(options: Options, given: Differences = {}) {
      const clientDataJSON = clientData('webauthn.get', options, given)
      const data = authenticatorData(0, given)
      const signature = sign('sha256', Buffer.concat([data, hashOf(clientDataJSON)]), privateKey)
      const signed = { clientDataJSON, authenticatorData: data, signature }
      const response = Object.fromEntries(Object.entries(signed).map(([name, bytes]) => [name, toBase64(bytes)]))
      return { ...credential, response: { ...response, userHandle: given.userHandle ?? userHandle } }
    },
  }
}
export type SoftwareAuthenticator = ReturnType<typeof createAuthenticator>

const hashOf = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest()
const toBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const fromBase64 = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
