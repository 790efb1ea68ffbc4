import { createHmac } from 'node:crypto'
import { decrypt, encrypt } from '@gatehouse/auth'
import { enqueue } from '@gatehouse/bus'
import { secondFactorBlocked } from '@gatehouse/contracts'
import { SecondFactor, type User } from '@gatehouse/domain'
import { refuse, type Refusal, type Random } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import { enterAct } from '../change-account.ts'
import type { Deps, OperationContext } from '../../deps.ts'
import { findStep } from './totp.ts'

export type FactorDeps = OperationContext & Pick<Deps, 'encryptionKey'>

/** The table alone tells no secret, and a row is of no use to another account. */
export const contextOf = (userId: string) => `second-factor:${userId}`

type Judging = {
  user: User
  code: string
  wrong: 'second_factor_wrong' | 'second_factor_incorrect'
  requestId: string | undefined
}
export type Judged = { factor: SecondFactor; secret: Buffer; refusal?: undefined } | { refusal: Refusal }

/**
 * A lock makes each code good once. Wrong codes count: throw the `refusal` after the commit. The account is locked, and
 * its factor is on. Contract: 3, Second factor.
 */
export async function judgeCode(
  deps: FactorDeps & Pick<Deps, 'afterCommit'>,
  em: EntityManager,
  { user, code: given, wrong, requestId }: Judging,
): Promise<Judged> {
  const factor = await em.findOneOrFail(SecondFactor, { userId: user.id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  const now = await deps.databaseTime(em)
  const blockedMs = factor.blockedFor(now)
  if (blockedMs > 0) return { refusal: blockedRefusal(blockedMs) }
  const secret = Buffer.from(decrypt(deps.encryptionKey, factor.secret, contextOf(user.id)), 'base64url')
  const code = normalizeCode(given)
  const step = findStep(secret, code, now)
  const isRight = step === undefined ? factor.useRecoveryCode(hashRecoveryCode(secret, code)) : factor.useStep(step)
  if (isRight) {
    // In force after the rotation of ENCRYPTION_SECRET.
    factor.secret = encryptSecret(deps, user.id, secret)
    return { factor, secret }
  }
  if (factor.countFailure(now))
    await recordBlock(deps, em, { user, now, until: now + factor.blockedFor(now), requestId })
  return { refusal: refuse[wrong]() }
}

export function encryptSecret({ encryptionKey }: Pick<Deps, 'encryptionKey'>, userId: string, secret: Buffer): string {
  return encrypt(encryptionKey, secret.toString('base64url'), contextOf(userId))
}

function blockedRefusal(ms: number): Refusal {
  const retryAfter = Math.ceil(ms / 1000)
  return refuse.second_factor_blocked({ fields: { retryAfter }, headers: { 'Retry-After': String(retryAfter) } })
}

type Block = { user: User; now: number; until: number; requestId: string | undefined }

async function recordBlock(
  { random }: Pick<Deps, 'random'>,
  em: EntityManager,
  { user, now, until, requestId }: Block,
): Promise<void> {
  enterAct(em, { action: 'user.second-factor-blocked', user, at: now })
  await enqueue(em, secondFactorBlocked, { userId: user.id, at: now, until }, { id: random.uuid(), requestId })
}

const count = 10
const characters = 10
/** Nothing that is mistaken for something else when it is read from paper. */
const alphabet = '23456789abcdefghjkmnpqrstuvwxyz'

export type RecoveryCodes = { codes: string[]; hashes: string[] }

/** Keyed by the encrypted secret: the table alone allows no offline guessing. */
export function createRecoveryCodes(random: Pick<Random, 'below'>, secret: Buffer): RecoveryCodes {
  const pick = () => alphabet[random.below(alphabet.length)]
  const codes = Array.from({ length: count }, () => Array.from({ length: characters }, pick).join(''))
  return { codes, hashes: codes.map((code) => hashRecoveryCode(secret, code)) }
}

export function hashRecoveryCode(secret: Buffer, code: string): string {
  return createHmac('sha256', secret).update(`recovery code ${code}`).digest('base64url')
}

/** People type spaces, hyphens and capitals. */
export function normalizeCode(given: string): string {
  return given.replace(/[\s-]/g, '').toLowerCase()
}
