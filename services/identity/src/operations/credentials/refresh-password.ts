import { baseUsername, fitsHash } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { policy } from '../../policy.ts'
import type { LoginAttempt } from './log-in.ts'

export type RefreshDeps = OperationContext & Pick<Deps, 'hasher' | 'outbound' | 'config'>

/**
 * Asks the home instance of a federated account whether a password that does not fit the local hash is right, and if so
 * replaces the local hash. Tokens stay valid: at home it has been the password all along. Gives the hash that the
 * password fits. Throws credentials_wrong, hashing_busy. Spec: Login 5.
 */
export async function refreshPasswordFromHome(
  deps: RefreshDeps,
  user: User,
  { password, requestId }: LoginAttempt,
): Promise<string> {
  // bcrypt ignores what exceeds its limit: an overlong password is wrong, whatever the home instance answers.
  if (!fitsHash(password)) throw refuse.credentials_wrong()
  if (!(await verifyAtHome(deps, user, { password, requestId }))) throw refuse.credentials_wrong()

  const freshHash = await deps.hasher.hash(password)
  if (!(await replaceHash(deps, user, freshHash))) return await reverify(deps, user.id, password)
  deps.log.info({ userId: user.id, homeInstance: user.homeInstance, requestId }, 'password hash refreshed from home')
  return freshHash
}

async function verifyAtHome(
  { outbound, log, config }: RefreshDeps,
  user: User,
  { password, requestId }: Omit<LoginAttempt, 'username'>,
): Promise<boolean> {
  const { homeInstance } = user
  if (!homeInstance) return false
  try {
    const response = await outbound.request({
      method: 'POST',
      url: `${homeScheme(config, homeInstance)}://${homeInstance}/api/auth/login`,
      headers: { 'content-type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) },
      body: JSON.stringify({ username: baseUsername(user.username), password }),
      timeoutMs: policy.homeCheckTimeoutMs,
    })
    return response.status === 200
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    log.warn({ userId: user.id, homeInstance, requestId, reason: error.kind }, 'home instance unreachable at login')
    return false
  }
}

/**
 * Plain http only between instances that the operator has connected by FEDERATION_RESOLVE while this one is itself served
 * over http; the outbound guard still has to allow the address.
 */
function homeScheme({ reach, publicAddress }: Deps['config'], homeInstance: string): 'http' | 'https' {
  const isResolvedByOperator = Object.hasOwn(reach.resolve, homeInstance)
  return isResolvedByOperator && publicAddress.origin.startsWith('http:') ? 'http' : 'https'
}

/** Replaces only the hash that the password did not fit: a password change that committed meanwhile stays. */
async function replaceHash({ orm }: OperationContext, user: User, freshHash: string): Promise<boolean> {
  const unchanged = { id: user.id, passwordHash: user.passwordHash, isDeleted: false }
  return (await orm.em.fork().nativeUpdate(User, unchanged, { passwordHash: freshHash })) === 1
}

/** Another login may have refreshed the hash at the same time: then the password fits the new one. */
async function reverify({ orm, hasher }: RefreshDeps, id: string, password: string): Promise<string> {
  const now = await orm.em.fork().findOne(User, { id, isDeleted: false })
  if (!now || !(await hasher.verify(password, now.passwordHash))) throw refuse.credentials_wrong()
  return now.passwordHash
}
