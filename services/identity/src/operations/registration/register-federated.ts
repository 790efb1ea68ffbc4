import {
  baseUsername,
  isFederatedUsername,
  isHost,
  normalizeUsername,
  registeredIdentity,
  userCreated,
} from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import { violates } from '@gatehouse/database'
import { parseInput } from '@gatehouse/service-kit'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { findFederatedUser, type FederatedIdentity } from '../../queries/find-federated-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import {
  insertAccount,
  pickAvatarColor,
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
 * Registers an account whose home is another instance, or upgrades the stub that already stands for it; an invite token
 * is ignored. Throws the faults of a username, home_instance_invalid, home_instance_is_here,
 * federated_registration_closed, federated_account_exists, username_taken, hashing_busy. Spec: Registration 2, 5, 9, 10.
 */
export async function registerFederated(
  deps: RegistrationDeps,
  registration: FederatedRegistration,
): Promise<Registered> {
  const identity = parseIdentity(deps, registration)
  await checkFederatedRegistrationOpen(deps)
  await findStub(deps.orm.em.fork(), identity)

  const account: FederatedAccount = {
    ...identity,
    passwordHash: await deps.hasher.hash(registration.password, registration.address),
    displayName: registration.displayName ?? null,
    avatarColor: pickAvatarColor(deps, registration.avatarColor),
    requestId: registration.requestId,
  }
  const registered = await retryOnConflict(() =>
    deps.orm.em.fork().transactional((em) => insertOrUpgrade(deps, em, account)),
  )
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

/** The stub to upgrade, if any. Throws federated_account_exists, username_taken. */
async function findStub(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const found = await findFederatedUser(em, identity)
  if (found && !found.isStub()) throw refuse.federated_account_exists()
  await refuseTakenName(em, identity.username, found?.id)
  return found
}

/** Registrations of one identity are serialized by an advisory lock: the second finds what the first inserted. */
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
  await em.flush()
  const facts = {
    state: accountStateOf(stub),
    at: issuedAt,
    origin: 'stub_upgrade',
    requestId: given.requestId,
  } as const
  await recordAccountEvent(em, deps, userCreated, facts)
  return { user: stub, created: false, issuedAt }
}

/**
 * A conflict may come from a stub that the relay inserted at the same moment, which is then to be upgraded: one more
 * attempt decides. Throws username_taken, federated_account_exists.
 */
async function retryOnConflict(attempt: () => Promise<Registered>): Promise<Registered> {
  const isConflict = (error: unknown) =>
    violates(error, 'users_username_unique') || violates(error, 'users_identity_unique')
  try {
    return await attempt().catch((error: unknown) => {
      if (isConflict(error)) return attempt()
      throw error
    })
  } catch (error) {
    if (violates(error, 'users_username_unique')) throw refuse.username_taken({ cause: error })
    if (violates(error, 'users_identity_unique')) throw refuse.federated_account_exists({ cause: error })
    throw error
  }
}
