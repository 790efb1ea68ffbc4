import { baseUsername, checkHomeEpoch, fitsHash } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import { refuse } from '@gatehouse/runtime'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'

export type RefreshDeps = OperationContext & Pick<Deps, 'hasher' | 'outbound' | 'config' | 'bus'>

export type LoginAttempt = {
  username: string
  password: string
  address: string
  requestId?: string | undefined
}

/**
 * Replaces the local hash when the home instance confirms the password. Tokens stay valid. Returns the hash that the
 * password fits. Throws invalid_credentials, hashing_busy, `Unavailable`. Spec: Login 5.
 */
export async function refreshPasswordFromHome(
  deps: RefreshDeps,
  user: User,
  { password, address, requestId }: LoginAttempt,
): Promise<string> {
  // bcrypt ignores what exceeds its limit.
  if (!fitsHash(password)) throw refuse.invalid_credentials()
  if (!(await verifyAtHome(deps, user, { password, requestId }))) throw refuse.invalid_credentials()

  const freshHash = await deps.hasher.hash(password, address)
  if (!(await replaceHash(deps, user, freshHash))) return await reverify(deps, user.id, { password, address })
  deps.log.info({ userId: user.id, homeInstance: user.homeInstance, requestId }, 'password hash refreshed from home')
  return freshHash
}

/** Both questions share the ten seconds. docs/decisions/login-repair.md. */
async function verifyAtHome(
  deps: RefreshDeps,
  user: User,
  { password, requestId }: Pick<LoginAttempt, 'password' | 'requestId'>,
): Promise<boolean> {
  const { outbound, log, config, clock } = deps
  const { homeInstance } = user
  if (!homeInstance) return false
  const endsAt = clock.now() + policy.homeCheckTimeoutMs
  try {
    const answer = await outbound.request({
      method: 'POST',
      url: `${homeScheme(config, homeInstance)}://${homeInstance}/api/auth/login`,
      headers: { 'content-type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) },
      body: JSON.stringify({ username: baseUsername(user.username), password }),
      timeoutMs: policy.homeCheckTimeoutMs,
    })
    if (!isCredentials(answer)) return false
    const left = Math.min(endsAt - clock.now(), policy.homeCheckTimeoutMs)
    return left > 0 && (await isKnownInstance(deps, { host: homeInstance, requestId, timeoutMs: left }))
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    log.warn({ userId: user.id, homeInstance, requestId, reason: error.kind }, 'home instance unreachable at login')
    return false
  }
}

/** Any web server may answer 200. */
function isCredentials({ status, body }: OutboundAnswer): boolean {
  try {
    return status === 200 && credentials.safeParse(JSON.parse(body.toString('utf8'))).success
  } catch {
    return false
  }
}

const credentials = z.object({ token: z.string().min(1) })

type Question = { host: string; requestId?: string | undefined; timeoutMs: number }

/** Throws `Unavailable` where nobody can be asked: the password may be right. */
async function isKnownInstance({ bus, log }: RefreshDeps, { host, requestId, timeoutMs }: Question): Promise<boolean> {
  const { outcome } = await bus.request(checkHomeEpoch, { host, timeoutMs }, { requestId, timeoutMs })
  if (outcome === 'same' || outcome === 'unknown') return true
  log.warn({ homeInstance: host, requestId, outcome }, 'home instance not recognized at login')
  return false
}

/** Plain http is for instances in FEDERATION_RESOLVE, while this one is served over http too. */
function homeScheme({ reach, publicAddress }: Deps['config'], homeInstance: string): 'http' | 'https' {
  const isResolvedByOperator = Object.hasOwn(reach.resolve, homeInstance)
  return isResolvedByOperator && publicAddress.origin.startsWith('http:') ? 'http' : 'https'
}

/** A password change that committed meanwhile stays. */
async function replaceHash({ orm }: OperationContext, user: User, freshHash: string): Promise<boolean> {
  const unchanged = { id: user.id, passwordHash: user.passwordHash, isDeleted: false }
  const replace = async (em: EntityManager) => await em.nativeUpdate(User, unchanged, { passwordHash: freshHash })
  return (await transaction(orm, replace, { accountId: user.id })) === 1
}

/** Another login may have refreshed the hash at the same time. */
async function reverify(
  { orm, hasher }: RefreshDeps,
  id: string,
  { password, address }: Pick<LoginAttempt, 'password' | 'address'>,
): Promise<string> {
  const now = await orm.em.fork().findOne(User, { id, isDeleted: false })
  if (!now || !(await hasher.verify(password, now.passwordHash, address))) throw refuse.invalid_credentials()
  return now.passwordHash
}
