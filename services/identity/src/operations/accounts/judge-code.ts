import { createHmac } from 'node:crypto'
import { decrypt, encrypt, secondFactorContext } from '@gatehouse/auth'
import { secondFactorBlocked } from '@gatehouse/contracts'
import { InstanceSettings, SecondFactor, type SecondFactorDemand, type User } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { refuse, type Random, type Refusal } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { writeAuditEntry } from '../change-account.ts'
import { findStep } from './totp.ts'

export type FactorDeps = OperationContext & Pick<Deps, 'encryptionKey'>

/** Whether admins need a second factor. The setting stays until the transaction ends: lock accounts before it. */
export async function readDemand(em: EntityManager): Promise<SecondFactorDemand> {
  const settings = await em.findOneOrFail(InstanceSettings, { id: 1 }, { lockMode: LockMode.PESSIMISTIC_READ })
  return { ofAdmins: settings.requireSecondFactorForAdmins }
}

export const encryptSecret = ({ encryptionKey }: FactorDeps, userId: string, secret: Buffer): string =>
  encrypt(encryptionKey, secret.toString('base64url'), secondFactorContext(userId))

export const decryptSecret = ({ encryptionKey }: FactorDeps, { userId, secret }: SecondFactor): Buffer =>
  Buffer.from(decrypt(encryptionKey, secret, secondFactorContext(userId)), 'base64url')

type Login = { user: User; code?: string | null | undefined; requestId?: string | undefined }

/** At a login, under the account's lock. Throw what it returns after the commit: wrong codes count. */
export async function judgeLoginCode(deps: FactorDeps, em: EntityManager, { user, code, requestId }: Login) {
  if (!user.secondFactor) return undefined
  if (!code) throw refuse.second_factor_required()
  return (await judgeCode(deps, em, { user, code, wrong: 'second_factor_wrong', requestId })).refusal
}

type Judging = {
  user: User
  code: string
  wrong: 'second_factor_wrong' | 'second_factor_incorrect'
  requestId: string | undefined
}
export type RightCode = { factor: SecondFactor; secret: Buffer; refusal?: undefined }

/** A lock makes a code good once. Throw `refusal` after the commit: wrong codes count. Contract: 3, Second factor. */
export async function judgeCode(
  deps: FactorDeps,
  em: EntityManager,
  { user, code: typedCode, wrong, requestId }: Judging,
): Promise<RightCode | { refusal: Refusal }> {
  const factor = await em.findOneOrFail(SecondFactor, { userId: user.id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  const now = await deps.databaseTime(em)
  const blockedMs = factor.blockedFor(now)
  if (blockedMs > 0) return { refusal: blockedRefusal(blockedMs) }
  const secret = decryptSecret(deps, factor)
  const code = normalizeCode(typedCode)
  const step = findStep(secret, code, now)
  const isRight = step === undefined ? factor.useRecoveryCode(hashRecoveryCode(secret, code)) : factor.useStep(step)
  if (isRight) {
    // In force after the rotation of ENCRYPTION_SECRET.
    factor.secret = encryptSecret(deps, user.id, secret)
    return { factor, secret }
  }
  if (factor.countFailure(now)) {
    writeAuditEntry(em, { action: 'user.second-factor-blocked', user, at: now })
    const block = { userId: user.id, at: now, until: now + factor.blockedFor(now) }
    await enqueue(em, secondFactorBlocked, block, { id: deps.random.uuid(), requestId })
  }
  return { refusal: refuse[wrong]() }
}

function blockedRefusal(ms: number): Refusal {
  const retryAfter = Math.ceil(ms / 1000)
  return refuse.second_factor_blocked({ fields: { retryAfter }, headers: { 'Retry-After': String(retryAfter) } })
}

const count = 10
const characters = 10
/** Nothing that is mistaken for something else when it is read from paper. */
const alphabet = '23456789abcdefghjkmnpqrstuvwxyz'

/** Keyed by the encrypted secret: the table alone allows no offline guessing. */
export function createRecoveryCodes(random: Pick<Random, 'below'>, secret: Buffer) {
  const pick = () => alphabet[random.below(alphabet.length)]
  const codes = Array.from({ length: count }, () => Array.from({ length: characters }, pick).join(''))
  return { codes, hashes: codes.map((code) => hashRecoveryCode(secret, code)) }
}

const hashRecoveryCode = (secret: Buffer, code: string): string =>
  createHmac('sha256', secret).update(`recovery code ${code}`).digest('base64url')

/** People type spaces, hyphens and capitals. */
export const normalizeCode = (typedCode: string): string => typedCode.replace(/[\s-]/g, '').toLowerCase()
