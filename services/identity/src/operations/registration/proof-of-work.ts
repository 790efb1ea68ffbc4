import { proofPayload, type ProofChallenge } from '@gatehouse/contracts'
import { read, transaction } from '@gatehouse/database'
import { refuse } from '@gatehouse/runtime'
import { clientNetwork } from '@gatehouse/service-kit'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { isRegistrationOpen, loadSettings } from '../../queries/load-settings.ts'
import { refuseBlocked } from '../accounts/waiting.ts'
import { useOnce } from '../use-once.ts'

type ProofDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'proofKeys'>

/** Loaded when it is first needed: most instances never do. */
async function loadLibrary() {
  const [library, { deriveKey }] = await Promise.all([import('altcha-lib'), import('altcha-lib/algorithms/pbkdf2')])
  return { ...library, deriveKey }
}

/** The greatest solution that a challenge may have. `registrations`: of the last hour. Contract: 3, Proof of work. */
export function proofCounterMax(registrations: number): number {
  const wanted = registrations * policy.proofCounterPerRegistration
  return Math.min(Math.max(wanted, policy.proofCounterLeast), policy.proofCounterMost)
}

const issuer = 'proof of work'

/** Uses are kept for an hour. More than the hardest challenge needs are not counted. */
async function countRegistrations({ orm, clock }: ProofDeps): Promise<number> {
  const sql = `select count(*)::int as used from (
      select from used_tokens where expires_at > ? and issuer = ? limit ?
    ) registrations`
  const enough = Math.ceil(policy.proofCounterMost / policy.proofCounterPerRegistration)
  const [row] = await read<{ used: number }>(orm.em.fork(), sql, [new Date(clock.now()), issuer, enough])
  return row?.used ?? 0
}

type Asking = { isLocal: boolean; address: string }
type OfferDeps = ProofDeps & Pick<Deps, 'config' | 'databaseTime'>

/**
 * The solution is drawn, so that the work has a bound. Nobody works for a local registration that is blocked. Throws not_found,
 * registration_blocked. Contract: 3, Approval, Proof of work.
 */
export async function offerChallenge(deps: OfferDeps, { isLocal, address }: Asking): Promise<ProofChallenge> {
  const settings = await loadSettings(deps.orm.em)
  if (settings.proofOfWork === 'off') throw refuse.not_found()
  const isDecided = isLocal && settings.approvalRequired && isRegistrationOpen(settings, deps.config)
  if (isDecided) await refuseBlocked(deps, deps.orm.em.fork(), clientNetwork(address))
  const counterMax = proofCounterMax(await countRegistrations(deps))
  const { createChallenge, deriveKey } = await loadLibrary()
  const challenge = await createChallenge({
    algorithm: 'PBKDF2/SHA-512',
    cost: policy.proofIterations,
    counter: deps.random.below(counterMax) + 1,
    data: { counterMax },
    expiresAt: new Date(deps.clock.now() + policy.proofMs),
    deriveKey,
    ...deps.proofKeys[0],
  })
  return challenge as ProofChallenge
}

type Proof = z.infer<typeof proofPayload>

/** Uses nothing up: call `useProof` before what costs. Throws proof_required, proof_refused. Contract: 3, Proof of work. */
export async function judgeProof({ clock, proofKeys }: ProofDeps, payload: unknown): Promise<Proof> {
  if (payload === undefined || payload === null || payload === '') throw refuse.proof_required()
  const proof = readProof(payload)
  if (!proof || proof.challenge.parameters.expiresAt * 1_000 < clock.now()) throw refuse.proof_refused()
  const { verifySolution, deriveKey } = await loadLibrary()
  for (const keys of proofKeys) {
    if ((await verifySolution({ ...proof, deriveKey, ...keys })).verified) return proof
  }
  throw refuse.proof_refused()
}

function readProof(payload: unknown): Proof | undefined {
  if (typeof payload !== 'string' || payload.length > policy.proofLengthMax) return undefined
  try {
    return proofPayload.parse(JSON.parse(Buffer.from(payload, 'base64').toString()))
  } catch {
    return undefined
  }
}

/** One of the requests with this proof passes, on any replica. Throws proof_refused. */
export async function useProof({ orm, clock }: ProofDeps, { challenge }: Proof): Promise<void> {
  const expiresAt = new Date(clock.now() + policy.proofRateMs)
  const isFirst = await transaction(orm, (em) => useOnce(em, { issuer, token: challenge.signature, expiresAt }))
  if (!isFirst) throw refuse.proof_refused()
}
