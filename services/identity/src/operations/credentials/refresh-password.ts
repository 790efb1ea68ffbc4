import { fitsHash } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, accountStateOf } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { pickAvatarColor } from '../registration/insert-account.ts'
import { checkFederatedRegistrationOpen, findNameAtHome, upgradeStub } from '../registration/register-federated.ts'
import { askHome, type AskDeps } from './ask-home.ts'

export type RefreshDeps = AskDeps & Pick<Deps, 'hasher'>

type Attempt = { password: string; address: string; requestId?: string | undefined }

/**
 * Replaces the local hash when the home instance confirms the password, and upgrades a stub. Tokens stay valid. Returns
 * the hash that the password fits. Throws `Unavailable`. Spec: Login 5; Contract: 7, Registration over a stub.
 */
export async function refreshPasswordFromHome(deps: RefreshDeps, user: User, attempt: Attempt): Promise<string> {
  const { password, address, requestId } = attempt
  // bcrypt ignores what exceeds its limit.
  if (!fitsHash(password)) throw refuse.invalid_credentials()
  const homeInstance = user.homeInstance ?? ''
  const { outcome, name: username } = await findNameAtHome(deps, user, requestId)
  // Another account may have the name.
  if (outcome === 'not_found' || outcome === 'unreachable') throw refuse.invalid_credentials()
  const verdict = await askHome(deps, { homeInstance, username, password, requestId })
  if (verdict === 'second_factor') throw refuse.home_second_factor()
  if (verdict !== 'confirmed') throw refuse.invalid_credentials()
  if (user.isStub()) await checkFederatedRegistrationOpen(deps)

  const freshHash = await deps.hasher.hash(password, address)
  const replace = user.isStub() ? upgradeAtLogin : replaceHash
  const isReplaced = await replace(deps, user, { freshHash, requestId })
  if (!isReplaced) return await reverify(deps, user.id, attempt)
  deps.log.info({ userId: user.id, homeInstance, requestId }, 'password hash refreshed from home')
  return freshHash
}

type Replacement = { freshHash: string; requestId: string | undefined }

/** A password change that committed meanwhile stays. */
async function replaceHash({ orm }: OperationContext, user: User, { freshHash }: Replacement): Promise<boolean> {
  const unchanged = { id: user.id, passwordHash: user.passwordHash, isDeleted: false }
  const replace = async (em: EntityManager) => await em.nativeUpdate(User, unchanged, { passwordHash: freshHash })
  return (await transaction(orm, replace, { accountId: user.id })) === 1
}

/** False: another login or registration was first. */
async function upgradeAtLogin(deps: RefreshDeps, { id }: User, { freshHash, requestId }: Replacement) {
  const avatarColor = pickAvatarColor(deps, null)
  const upgraded = await transaction(deps.orm, async (em) => {
    const stub = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!stub?.isStub() || stub.isDeleted) return null
    const { username } = stub
    const given = { username, passwordHash: freshHash, homeUserId: null, displayName: null, avatarColor, requestId }
    return (await upgradeStub(deps, em, { stub, given })).user
  })
  if (upgraded) await deps.afterCommit.invalidateCache(accountStateOf(upgraded))
  return upgraded !== null
}

/** Another login may have refreshed the hash at the same time. */
async function reverify({ orm, hasher }: RefreshDeps, id: string, { password, address }: Attempt): Promise<string> {
  const now = await orm.em.fork().findOne(User, { id, isDeleted: false })
  if (!now || !(await hasher.verify(password, now.passwordHash, address))) throw refuse.invalid_credentials()
  return now.passwordHash
}
