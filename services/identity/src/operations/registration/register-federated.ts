import {
  baseUsername,
  isFederatedUsername,
  isHost,
  normalizeUsername,
  registeredIdentity,
  userCreated,
} from '@gatehouse/contracts'
import { transaction, violates } from '@gatehouse/database'
import { accountStateOf, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { parseInput } from '@gatehouse/service-kit'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { findFederatedUser, type FederatedIdentity } from '../../queries/find-federated-user.ts'
import { recordAccountEvent } from '../change-account.ts'
import {
  insertAccount,
  readRegistration,
  refuseTakenName,
  type NewAccount,
  type Registered,
  type Registration,
  type RegistrationDeps,
} from './insert-account.ts'
import { checkFederatedRegistrationOpen } from './registration-gates.ts'
import { federatedFault } from './username-form.ts'

type FederatedRegistration = Registration & { homeInstance: string }
type FederatedAccount = Omit<NewAccount, 'home'> & FederatedIdentity

/**
 * Registers an account of another instance, or upgrades its stub. An invite token is ignored. Throws the faults of a
 * username, home_instance_invalid, home_instance_is_here, federated_registration_closed, federated_account_exists,
 * username_taken, hashing_busy. Spec: Registration 2, 5, 9, 10.
 */
export async function registerFederated(
  deps: RegistrationDeps,
  registration: FederatedRegistration,
): Promise<Registered> {
  const identity = parseIdentity(deps, registration)
  await checkFederatedRegistrationOpen(deps)
  await findStub(deps.orm.em.fork(), identity)
  const account: FederatedAccount = { ...identity, ...(await readRegistration(deps, registration)) }
  const registered = await retryOnConflict(() => transaction(deps.orm, (em) => insertOrUpgrade(deps, em, account)))
  if (registered.created) deps.afterCommit.publishEvents()
  else await deps.afterCommit.invalidateCache(accountStateOf(registered.user))
  return registered
}

function parseIdentity({ config }: Pick<RegistrationDeps, 'config'>, given: FederatedRegistration): FederatedIdentity {
  const homeInstance = given.homeInstance.toLowerCase()
  const username = normalizeUsername(given.username)
  if (!isHost(given.homeInstance)) throw refuse.home_instance_invalid()
  if (homeInstance.replace(/\.+$/, '') === config.publicAddress.domain) throw refuse.home_instance_is_here()
  if (!isFederatedUsername(username)) throw federatedFault(username)
  const { homeUserId } = parseInput(registeredIdentity, given)
  return { homeInstance, homeUserId, username }
}

/** Throws federated_account_exists, username_taken. */
async function findStub(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const found = await findFederatedUser(em, identity)
  if (found && !found.isStub()) throw refuse.federated_account_exists()
  await refuseTakenName(em, identity.username, found?.id)
  return found
}

/** An advisory lock serializes registrations of one identity. */
async function insertOrUpgrade(
  deps: OperationContext,
  em: EntityManager,
  given: FederatedAccount,
): Promise<Registered> {
  const identityName = `${given.homeInstance}/${baseUsername(given.username)}`
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [identityName])
  const stub = await findStub(em, given)
  if (stub) return await upgradeStub(deps, em, { stub, given })
  const { homeInstance, homeUserId, ...account } = given
  const user = await insertAccount(deps, em, { ...account, home: { homeInstance, homeUserId } })
  return { user, created: true, issuedAt: user.createdAt.getTime() }
}

async function upgradeStub(
  deps: OperationContext,
  em: EntityManager,
  { stub, given }: { stub: User; given: FederatedAccount },
): Promise<Registered> {
  await em.refresh(stub, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!stub.isStub() || stub.isDeleted) throw refuse.federated_account_exists()
  const issuedAt = Math.max(await deps.databaseTime(em), stub.passwordChangedAt ?? 0)
  stub.upgradeStub(given)
  const facts = { user: stub, at: issuedAt, origin: 'stub_upgrade' as const, requestId: given.requestId }
  await recordAccountEvent(em, deps, userCreated, facts)
  return { user: stub, created: false, issuedAt }
}

/**
 * A relay may have inserted a stub at the same moment: the second attempt upgrades it. Throws username_taken,
 * federated_account_exists.
 */
async function retryOnConflict(attempt: () => Promise<Registered>): Promise<Registered> {
  const isNameTaken = (error: unknown) => violates(error, 'users_username_unique')
  const isIdentityTaken = (error: unknown) => violates(error, 'users_identity_unique')
  try {
    return await attempt().catch((error: unknown) => {
      if (isNameTaken(error) || isIdentityTaken(error)) return attempt()
      throw error
    })
  } catch (error) {
    if (isNameTaken(error)) throw refuse.username_taken({ cause: error })
    if (isIdentityTaken(error)) throw refuse.federated_account_exists({ cause: error })
    throw error
  }
}
