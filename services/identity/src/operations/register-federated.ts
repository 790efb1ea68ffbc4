import {
  baseUsername,
  isFederatedUsername,
  isHost,
  normalizeUsername,
  type registerBody,
  type AvatarColor,
} from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import { violates } from '@gatehouse/database'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { findFederatedUser, type FederatedIdentity } from '../queries/find-federated-user.ts'
import { enqueueAccountChange, settleAccountChange } from './account-change.ts'
import { insertAccount, pickAvatarColor, refuseTakenName, type Registered } from './insert-account.ts'
import { passFederatedGate } from './registration-gates.ts'

type Input = z.output<typeof registerBody> & { requestId?: string | undefined }
type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'hasher' | 'config' | 'relay' | 'announcer'>
type Given = FederatedIdentity & {
  passwordHash: string
  displayName: string | null
  avatarColor: AvatarColor
  requestId: string | undefined
}

/**
 * Makes an account for somebody whose home is elsewhere, or gives the stub that already stands for them to them. Invites
 * are of no interest here. Throws federated_username_invalid, home_instance_invalid, home_instance_is_here,
 * federated_registration_closed, federated_account_exists, username_taken, hashing_busy. Spec: Registration 2, 5, 9, 10.
 */
export async function registerFederated(deps: Needs, input: Input & { homeInstance: string }): Promise<Registered> {
  const identity = readIdentity(deps, input)
  await passFederatedGate(deps)
  await findStub(deps.orm.em.fork(), identity)

  const given = {
    ...identity,
    passwordHash: await deps.hasher.hash(input.password),
    displayName: input.displayName ?? null,
    avatarColor: pickAvatarColor(deps, input.avatarColor),
    requestId: input.requestId,
  }
  const registered = await settleRaces(() => deps.orm.em.fork().transactional((em) => takePlace(deps, em, given)))
  if (registered.created) deps.relay.kick()
  else await settleAccountChange(deps, accountStateOf(registered.user))
  return registered
}

function readIdentity({ config }: Pick<Deps, 'config'>, input: Input & { homeInstance: string }): FederatedIdentity {
  const homeInstance = input.homeInstance.toLowerCase()
  const username = normalizeUsername(input.username)
  if (!isHost(input.homeInstance)) throw refuse.home_instance_invalid()
  if (homeInstance.replace(/\.+$/, '') === config.publicAddress.domain) throw refuse.home_instance_is_here()
  if (!isFederatedUsername(username)) throw refuse.federated_username_invalid()
  return { homeInstance, homeUserId: input.homeUserId, username }
}

/** The stub to upgrade, if any. Throws federated_account_exists, username_taken. */
async function findStub(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const found = await findFederatedUser(em, identity)
  if (found && !found.isStub()) throw refuse.federated_account_exists()
  await refuseTakenName(em, identity.username, found?.id)
  return found
}

/** Registrations of one identity go one after the other, so that the second finds what the first made. */
async function takePlace(deps: Needs, em: EntityManager, given: Given): Promise<Registered> {
  const identityName = `${given.homeInstance}/${baseUsername(given.username)}`
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [identityName])
  const stub = await findStub(em, given)
  if (stub) return await upgradeStub(deps, em, { stub, given })
  const { homeInstance, homeUserId, ...account } = given
  const user = await insertAccount(deps, em, { ...account, home: { homeInstance, homeUserId } })
  return { user, created: true, issuedAt: user.createdAt.getTime() }
}

async function upgradeStub(
  deps: Needs,
  em: EntityManager,
  { stub, given }: { stub: User; given: Given },
): Promise<Registered> {
  await em.refresh(stub, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!stub.isStub() || stub.isDeleted) throw refuse.federated_account_exists()
  const issuedAt = deps.clock.now()
  stub.upgradeStub(given)
  await em.flush()
  await enqueueAccountChange(em, deps, { state: accountStateOf(stub), requestId: given.requestId })
  return { user: stub, created: false, issuedAt }
}

/**
 * Whoever took the name or the identity at the same moment may have made just the stub that is to be upgraded, so one
 * more look decides. Throws username_taken, federated_account_exists.
 */
async function settleRaces(attempt: () => Promise<Registered>): Promise<Registered> {
  const isRace = (error: unknown) =>
    violates(error, 'users_username_unique') || violates(error, 'users_identity_unique')
  try {
    return await attempt().catch((error: unknown) => {
      if (isRace(error)) return attempt()
      throw error
    })
  } catch (error) {
    if (violates(error, 'users_username_unique')) throw refuse.username_taken({ cause: error })
    if (violates(error, 'users_identity_unique')) throw refuse.federated_account_exists({ cause: error })
    throw error
  }
}
