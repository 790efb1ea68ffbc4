import {
  baseUsername,
  handleOf,
  isFederatedUsername,
  isHost,
  normalizeUsername,
  registeredIdentity,
} from '@gatehouse/contracts'
import { lockName, transaction, violates } from '@gatehouse/database'
import { accountStateOf, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { parseInput } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { loadSettings } from '../../queries/load-settings.ts'
import { findFederatedUser, type FederatedIdentity } from '../../queries/load-user.ts'
import { askHome, homeCheckEnds, type AskDeps } from '../accounts/ask-home.ts'
import { insertAccount, readRegistration, refuseTakenName } from '../accounts/insert-account.ts'
import type { NewAccount, Registration, RegistrationDeps } from '../accounts/insert-account.ts'
import { recordSignIn } from '../accounts/sign-ins.ts'
import { checkFederatedRegistrationOpen, findNameAtHome, upgradeStub } from '../accounts/upgrade-stub.ts'
import { refuseViolation } from '../change-account.ts'
import { federatedFault } from './check-username.ts'
import { judgeProof, useProof } from './proof-of-work.ts'

type FederatedRegistration = Registration & { homeInstance: string; password: string }
type FederatedAccount = Omit<NewAccount, 'home'> & FederatedIdentity

/** Inserts the account or upgrades its stub. Spec: Registration 2, 5, 9, 10; Contract: 7, Registration over a stub. */
export async function registerFederated(deps: RegistrationDeps & AskDeps, registration: FederatedRegistration) {
  const identity = parseIdentity(deps, registration)
  const { proofOfWork } = await checkFederatedRegistrationOpen(deps)
  const proof = proofOfWork === 'off' ? undefined : await judgeProof(deps, registration.proof)
  let stub = await findStub(deps.orm.em.fork(), identity)
  if (proof) await useProof(deps, proof)
  let account: FederatedAccount | undefined
  for (;;) {
    const claim = { ...registration, username: identity.username }
    const verdict = stub ? await requireOwner(deps, stub, claim) : undefined
    const given = (account ??= { ...identity, ...(await readRegistration(deps, registration)) })
    const register = async (em: EntityManager) => {
      const done = await insertOrUpgrade(deps, em, { given, judged: verdict })
      if (!('created' in done)) return done
      const { user, now, created } = done
      const facts = { user, now, client: registration.client }
      return { user, created, issuedAt: await recordSignIn(em, { ...facts, method: 'registration' }) }
    }
    const registered = await retryOnConflict(() => transaction(deps.orm, register))
    if (!('created' in registered)) {
      stub = registered
      continue
    }
    if (registered.created) deps.afterCommit.publishEvents()
    else await deps.afterCommit.invalidateCache(accountStateOf(registered.user))
    return registered
  }
}

function parseIdentity({ config }: RegistrationDeps, registration: FederatedRegistration): FederatedIdentity {
  const homeInstance = registration.homeInstance.toLowerCase()
  const username = normalizeUsername(registration.username)
  if (!isHost(registration.homeInstance)) throw refuse.home_instance_invalid()
  if (homeInstance.replace(/\.+$/, '') === config.publicAddress.domain) throw refuse.home_instance_is_here()
  // The suffix of a stub is no part of a name.
  if (!isFederatedUsername(username) || handleOf(username) !== baseUsername(username)) throw federatedFault(username)
  const { homeUserId } = parseInput(registeredIdentity, registration)
  return { homeInstance, homeUserId, username }
}

async function findStub(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const owner = await findFederatedUser(em, identity)
  if (owner && !owner.isStub()) throw refuse.federated_account_exists()
  await refuseTakenName(em, identity.username, owner?.id)
  return owner
}

/** `homeUserId`: what the home answered, null where it gave no answer. */
type OwnerVerdict = { stubId: string; homeUserId: string | null }

type Attempt = { given: FederatedAccount; judged: OwnerVerdict | undefined }

/** An advisory lock serializes registrations of one identity. Returns a stub that came meanwhile, which has to be judged. */
async function insertOrUpgrade(deps: OperationContext, em: EntityManager, { given, judged }: Attempt) {
  const identityName = `${given.homeInstance}/${baseUsername(given.username)}`
  await lockName(em, identityName)
  const stub = await findStub(em, given)
  if (stub) {
    if (stub.id !== judged?.stubId) return stub
    const homeUserId = judged.homeUserId ?? given.homeUserId
    const upgraded = await upgradeStub(deps, em, { stub, given: { ...given, homeUserId } })
    // Judged under the lock, which waits for a suspension. A claim without a proof must not learn why.
    if (stub.isSuspended()) throw refuse.username_taken()
    return upgraded
  }
  const { homeInstance, homeUserId, ...account } = given
  const user = await insertAccount(deps, em, { ...account, home: { homeInstance, homeUserId } })
  return { user, created: true, now: user.createdAt.getTime() }
}

/** A relay may have inserted a stub at the same moment: the second attempt upgrades it. */
async function retryOnConflict<T>(attempt: () => Promise<T>): Promise<T> {
  const retried = attempt().catch((error: unknown) => {
    if (violates(error, 'users_username_unique') || violates(error, 'users_identity_unique')) return attempt()
    throw error
  })
  const uniqueName = refuseViolation(retried, 'users_username_unique', refuse.username_taken)
  return await refuseViolation(uniqueName, 'users_identity_unique', refuse.federated_account_exists)
}

type Claim = { username: string; password: string; requestId?: string | undefined }

/**
 * A homeUserId is public: the home of a stub is asked for the password. Where it gives no answer the setting decides.
 * Throws username_taken, `Unavailable`. Contract: 7, Registration over a stub.
 */
async function requireOwner(deps: AskDeps, stub: User, claim: Claim): Promise<OwnerVerdict> {
  const { username: claimedName, password, requestId } = claim
  const endsAt = homeCheckEnds(deps)
  const { outcome, name: username } = await findNameAtHome(deps, { account: stub, claimedName, requestId })
  if (outcome === 'not_found') throw refuse.username_taken()
  const answer = await askHome(deps, { account: stub, username, password, requestId, endsAt })
  const { verdict } = answer
  deps.log.info({ userId: stub.id, homeInstance: stub.homeInstance, verdict, requestId }, 'stub claimed')
  if (verdict === 'confirmed') return { stubId: stub.id, homeUserId: answer.homeUserId }
  const isRefused = verdict !== 'no_answer' || (await loadSettings(deps.orm.em)).stubUpgradesNeedProof
  if (isRefused) throw refuse.username_taken()
  return { stubId: stub.id, homeUserId: null }
}
