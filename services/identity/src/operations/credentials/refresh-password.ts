import { fitsHash } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, accountStateOf } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { askHome, homeCheckEnds, type AskDeps } from '../accounts/ask-home.ts'
import { pickAvatarColor } from '../accounts/insert-account.ts'
import { checkFederatedRegistrationOpen, findNameAtHome, upgradeStub } from '../accounts/upgrade-stub.ts'
import { changeUser, recordProfileChange, refuseViolation } from '../change-account.ts'

export type RefreshDeps = AskDeps & Pick<Deps, 'hasher'>

type Attempt = { password: string; address: string; requestId?: string | undefined }

/**
 * Replaces the local hash when the home instance confirms the password, and upgrades a stub. An account without homeUserId
 * learns it. Tokens stay valid. Returns the hash that the password fits. Throws `Unavailable`. Spec: Login 5; Contract: 7,
 * Login repair, Registration over a stub.
 */
export async function refreshPasswordFromHome(deps: RefreshDeps, user: User, attempt: Attempt): Promise<string> {
  const { password, address, requestId } = attempt
  // bcrypt ignores what exceeds its limit.
  if (!fitsHash(password)) throw refuse.invalid_credentials()
  const endsAt = homeCheckEnds(deps)
  const claim = { account: user, claimedName: user.username, requestId }
  const { outcome, name: username } = await findNameAtHome(deps, claim)
  // Another account may have the name.
  if (outcome === 'not_found' || outcome === 'unreachable') throw refuse.invalid_credentials()
  const answer = await askHome(deps, { account: user, username, password, requestId, endsAt })
  if (answer.verdict === 'second_factor') throw refuse.home_second_factor()
  if (answer.verdict !== 'confirmed') throw refuse.invalid_credentials()
  if (user.isStub()) await checkFederatedRegistrationOpen(deps)

  const freshHash = await deps.hasher.hash(password, address)
  const replace = user.isStub() ? upgradeAtLogin : replaceHash
  const replacing = replace(deps, user, { freshHash, homeUserId: answer.homeUserId, requestId })
  const isReplaced = await refuseViolation(replacing, 'users_identity_unique', refuse.invalid_credentials)
  if (!isReplaced) return await reverify(deps, user.id, attempt)
  deps.log.info({ userId: user.id, homeInstance: user.homeInstance, requestId }, 'password hash refreshed from home')
  return freshHash
}

type Replacement = { freshHash: string; homeUserId: string; requestId: string | undefined }

/** What committed meanwhile stays: a change of the password, a detachment from the home, another homeUserId. */
async function replaceHash(deps: OperationContext, verifiedUser: User, replacement: Replacement): Promise<boolean> {
  const { freshHash, homeUserId, requestId } = replacement
  const isReplaced = await changeUser(deps, verifiedUser.id, async (user, em) => {
    const isUnchanged =
      user?.passwordHash === verifiedUser.passwordHash && user.homeInstance === verifiedUser.homeInstance
    if (!user || !isUnchanged || user.isDeleted || !user.fitsHomeUserId(homeUserId)) return false
    const changed = user.homeUserId === homeUserId ? [] : ['homeUserId']
    Object.assign(user, { passwordHash: freshHash, homeUserId })
    if (changed.length > 0) await recordProfileChange(em, deps, { user, changed, requestId })
    return true
  })
  deps.afterCommit.publishEvents()
  return isReplaced
}

/** False: another login or registration was first. */
async function upgradeAtLogin(deps: RefreshDeps, { id }: User, replacement: Replacement) {
  const { freshHash, homeUserId, requestId } = replacement
  const avatarColor = pickAvatarColor(deps, null)
  const upgraded = await transaction(deps.orm, async (em) => {
    const stub = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!stub?.isStub() || stub.isDeleted || !stub.fitsHomeUserId(homeUserId)) return null
    const { username } = stub
    const given = { username, passwordHash: freshHash, homeUserId, displayName: null, avatarColor, requestId }
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
