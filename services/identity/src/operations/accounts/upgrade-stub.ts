import { baseUsername, handleOf, isNameOfHost, lookUpByHomeId, userCreated } from '@gatehouse/contracts'
import type { StubUpgrade, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { loadSettings } from '../../queries/load-settings.ts'
import { recordAccountEvent } from '../change-account.ts'
import { answerAbout, type AskDeps } from './ask-home.ts'

/** No invite opens it. Throws federated_registration_closed. Spec: Registration 5, 7. */
export async function checkFederatedRegistrationOpen({ orm }: Pick<OperationContext, 'orm'>) {
  const settings = await loadSettings(orm.em)
  if (!settings.federatedRegistrationOpen) throw refuse.federated_registration_closed()
  return settings
}

type NameClaim = { account: User; claimedName: string; requestId?: string | undefined }

/**
 * Under which name the home may be asked for the password. A stub's own name may be made up, or another account's by now;
 * that of the claim is the claimant's. `outcome`: whether the home told it, which is asked for stubs alone. `not_found`, and
 * nothing is sent, where the claimed name has another domain. Throws `Unavailable`. Contract: 7, Login repair.
 */
export async function findNameAtHome(deps: AskDeps, { account, claimedName, requestId }: NameClaim) {
  const { homeInstance, homeUserId } = account
  const name = handleOf(account.username)
  if (!homeInstance || !isNameOfHost(claimedName, homeInstance)) return { outcome: 'not_found' as const, name }
  const known = { outcome: 'no_peer' as const, name }
  if (!account.isStub() || !homeUserId) return known
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  const reply = deps.bus.request(lookUpByHomeId, { host: homeInstance, homeUserId }, options)
  const told = await answerAbout(deps, { host: homeInstance, reply, ofStranger: { outcome: 'no_peer' } })
  return { outcome: told.outcome, name: told.username ? baseUsername(told.username).toLowerCase() : name }
}

type Upgrade = { stub: User; given: StubUpgrade & { requestId: string | undefined } }

/** Throws federated_account_exists. Spec: Registration 10. */
export async function upgradeStub(deps: OperationContext, em: EntityManager, { stub, given }: Upgrade) {
  await em.refresh(stub, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!stub.isStub() || stub.isDeleted) throw refuse.federated_account_exists()
  const now = await deps.databaseTime(em)
  stub.upgradeStub(given)
  const facts = { user: stub, at: now, origin: 'stub_upgrade' as const, requestId: given.requestId }
  await recordAccountEvent(em, deps, userCreated, facts)
  return { user: stub, created: false, now }
}
