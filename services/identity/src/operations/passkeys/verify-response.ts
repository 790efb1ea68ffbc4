import { createHash } from 'node:crypto'
import { decrypt, encrypt } from '@gatehouse/auth'
import type { addPasskeyBody, passkeyLoginBody } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { Passkey, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'

type Where = Pick<Deps, 'config'>
export type Assertion = z.infer<typeof passkeyLoginBody>['response']

/** EdDSA, ES256 and RS256. */
export const algorithms = [-8, -7, -257]

/** Loaded with the first passkey: 180 ms and 27 MB that a process without passkeys need not have. */
async function loadVerifier() {
  const [verifier, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ])
  return { ...verifier, ...helpers }
}

/**
 * The challenge is judged by `consumeChallenge`. Of attestations only "none" and a key's own signature count: others name
 * addresses that would be fetched. Throws passkey_response_invalid. Contract: 3, Passkeys.
 */
export async function verifyRegistration(where: Where, response: z.infer<typeof addPasskeyBody>['response']) {
  const { decodeAttestationObject, verifyRegistrationResponse } = await loadVerifier()
  try {
    const attestation = decodeAttestationObject(Buffer.from(response.response.attestationObject, 'base64url'))
    const isSelfSigned = attestation.get('fmt') === 'packed' && !attestation.get('attStmt').get('x5c')
    if (attestation.get('fmt') !== 'none' && !isSelfSigned) throw new Error('attestation by others')
    const withoutExtensions = { ...response, clientExtensionResults: {} }
    const { challenge, ...expected } = expectationOf(where)
    const verification = { ...expected, response: withoutExtensions, supportedAlgorithmIDs: algorithms }
    const { registrationInfo } = await verifyRegistrationResponse(verification)
    if (!registrationInfo) throw new Error('not verified')
    const { id: credentialId, publicKey, counter } = registrationInfo.credential
    return { challenge: challenge(), credentialId, publicKey: Buffer.from(publicKey).toString('base64url'), counter }
  } catch {
    throw refuse.passkey_response_invalid() // without its cause: it may quote the challenge
  }
}

/** The caller compares the counter. Throws passkey_rejected. Contract: 3, Passkeys. */
export async function verifyAssertion(where: Where, response: Assertion, { credentialId, publicKey, userId }: Passkey) {
  const { verifyAuthenticationResponse } = await loadVerifier()
  try {
    const { userHandle, ...signed } = response.response
    if (userHandle !== handleOf(userId)) throw new Error('of another account')
    const { challenge, ...expected } = expectationOf(where)
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...expected,
      response: { ...response, response: signed, clientExtensionResults: {} },
      credential: { id: credentialId, publicKey: Buffer.from(publicKey, 'base64url'), counter: 0 },
    })
    if (!verified) throw new Error('not verified')
    const { newCounter: counter, credentialBackedUp: isBackedUp } = authenticationInfo
    return { challenge: challenge(), use: { counter, isBackedUp } }
  } catch {
    throw refuse.passkey_rejected()
  }
}

/** What the authenticator keeps of the account. */
export const handleOf = (userId: string) => Buffer.from(userId).toString('base64url')

function expectationOf({ config }: Where) {
  let answeredChallenge = ''
  return {
    challenge: () => answeredChallenge,
    expectedChallenge: (challenge: string) => ((answeredChallenge = challenge), true),
    expectedOrigin: [config.publicAddress.origin, ...(config.passkeyOrigins ?? [])],
    expectedRPID: config.publicAddress.domain,
    requireUserVerification: true,
  }
}

type ChallengeDeps = Pick<Deps, 'databaseTime' | 'encryptionKey' | 'random'>

/** Anybody may ask for one. */
export const ofLogin = 'passkey login'

/** Of one account, and of none whose password changed meanwhile. */
export const ofAddition = ({ id, passwordHash }: User) => `passkey of ${id}: ${passwordHash}`

/** In base64url. It holds its end, encrypted for its purpose: the server keeps nothing until it is answered. */
export async function issueChallenge(deps: ChallengeDeps, em: EntityManager, purpose: string): Promise<string> {
  const endsAt = (await deps.databaseTime(em)) + policy.passkeyChallengeMs
  const challenge = encrypt(deps.encryptionKey, `${endsAt} ${deps.random.uuid()}`, purpose)
  return Buffer.from(challenge).toString('base64url')
}

const consumption = `
  with ended as (select hash from passkey_challenges where expires_at <= ? for update skip locked),
    gone as (delete from passkey_challenges using ended where passkey_challenges.hash = ended.hash)
  insert into passkey_challenges (hash, expires_at) values (?, ?) on conflict do nothing returning hash`

type Answered = { challenge: string; purpose: string }

/** Once on any replica: a second one waits for the transaction. Throws passkey_challenge_invalid. Contract: 3, Passkeys. */
export async function consumeChallenge(deps: ChallengeDeps, em: EntityManager, { challenge, purpose }: Answered) {
  const now = await deps.databaseTime(em)
  let issued: string
  try {
    issued = decrypt(deps.encryptionKey, Buffer.from(challenge, 'base64url').toString(), purpose)
  } catch {
    throw refuse.passkey_challenge_invalid() // without its cause: no challenge is logged
  }
  const endsAt = Number(issued.split(' ')[0])
  if (endsAt <= now) throw refuse.passkey_challenge_invalid()
  const hash = createHash('sha256').update(issued).digest('base64url')
  const consumed = await read(em, consumption, [new Date(now), hash, new Date(endsAt)])
  if (consumed.length === 0) throw refuse.passkey_challenge_invalid()
}
