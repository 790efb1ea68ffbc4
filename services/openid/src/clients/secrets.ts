import { timingSafeEqual } from 'node:crypto'
import { hashSecret } from '@gatehouse/auth'
import type { Application } from '@gatehouse/domain'
import { randomToken, type Random } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { findApplication } from './client.ts'

const secretBytes = 32

type WithSecret = Pick<Application, 'secretHash' | 'previousSecretHash' | 'previousSecretUntil'>

/** Gives the secret, which is stored hashed; the one before works for a day. Contract: 3, Applications. */
export function renewSecret(application: WithSecret, { now, random }: { now: number; random: Random }): string {
  const secret = randomToken(random, secretBytes)
  application.previousSecretHash = application.secretHash ?? null
  application.previousSecretUntil = application.secretHash ? new Date(now + policy.previousSecretMs) : null
  application.secretHash = hashSecret(secret)
  return secret
}

/** The current one, or the one before within its day. */
export function isSecretOf(application: WithSecret, secret: string, now: number): boolean {
  const { secretHash, previousSecretHash, previousSecretUntil } = application
  const hash = Buffer.from(hashSecret(secret))
  const isPreviousGood = previousSecretUntil != null && previousSecretUntil.getTime() > now
  const good = [secretHash, isPreviousGood ? previousSecretHash : null].filter((validHash) => validHash != null)
  return good.some((validHash) => validHash.length === hash.length && timingSafeEqual(hash, Buffer.from(validHash)))
}

type Credentials = { id: string; secret: string }

/** Null: there is none that is in force with this secret. */
export async function findByCredentials({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, { id, secret }: Credentials) {
  const application = await findApplication(orm.em.fork(), id)
  return application && isSecretOf(application, secret, clock.now()) ? application : null
}
