import { inviteRedeemed, isReservedUsername, normalizeUsername } from '@gatehouse/contracts'
import { type User, InstanceSettings } from '@gatehouse/domain'
import { findInvite, lockActiveInvite, recordRedemption } from '@gatehouse/invites'
import { enqueue } from '@gatehouse/outbox'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { isRegistrationOpen, loadSettings, type PlainSettings } from '../../queries/load-settings.ts'
import {
  insertAccount,
  insertUniquely,
  readRegistration,
  refuseUnfreeName,
  type NewAccount,
  type Registered,
  type Registration,
  type RegistrationDeps,
} from '../accounts/insert-account.ts'
import type { NamedIdentity } from '../accounts/insert-identity.ts'
import { recordSignIn } from '../accounts/sign-ins.ts'
import { claimName } from '../accounts/waiting.ts'
import { checkRequest, holdRegistration, type HeldRegistration } from '../approval/hold-registration.ts'
import { requireLocalUsername } from './check-username.ts'
import { judgeProof, useProof } from './proof-of-work.ts'

/** `identity` is what the account gets; `claim` and `complete` run in the transaction, before and after the account is inserted. Contract: 3, Identity providers. */
type ByProvider = {
  gate: 'gate' | 'open' | 'invite'
  identity: NamedIdentity
  claim(em: EntityManager): Promise<void>
  complete(em: EntityManager, user: User): Promise<void>
}

/**
 * While registration is closed an active invite admits the account. Nobody gets a password that no login takes. Where an
 * admin decides, the registration waits instead. Spec: Registration 1, 3, 4, 9, 11; Contract: 3, Approval; 8, PASSWORDS.
 */
export async function registerLocal(
  deps: RegistrationDeps,
  registration: Registration,
  byProvider?: ByProvider,
): Promise<Registered | HeldRegistration> {
  if (!byProvider && !deps.config.passwords) throw refuse.registration_by_password_closed()
  const username = normalizeUsername(registration.username)
  requireLocalUsername(username)
  const settings = await loadSettings(deps.orm.em)
  const { client, address, reason } = registration
  const gate = byProvider?.gate ?? 'gate'
  const isProofAsked = !byProvider && settings.proofOfWork !== 'off'
  const isMoreAsked = isProofAsked || needsApproval(settings, gate)
  const shown = { inviteToken: registration.inviteToken, isMoreAsked }
  const inviteToken = await checkLocalRegistrationOpen(deps, { settings, gate, ...shown })
  const isDecided = inviteToken === null && needsApproval(settings, gate)
  const mayBeFirst = settings.firstAdminId === null
  if (isDecided && !mayBeFirst) await checkRequest(deps, { settings, address, reason })
  const proof = isProofAsked && inviteToken === null ? await judgeProof(deps, registration.proof) : undefined
  if (isReservedUsername(username, settings.reservedUsernames)) throw refuse.username_taken()
  await refuseUnfreeName(deps, username)
  if (proof) await useProof(deps, proof)
  const account = { ...(await readRegistration(deps, registration)), username, home: null }
  const registered = await insertUniquely(deps, async (em) => {
    await byProvider?.claim(em)
    if (isDecided && !(mayBeFirst && (await isFirst(deps, em, username)))) {
      return await holdRegistration(deps, em, { account, request: registration, identity: byProvider?.identity })
    }
    const user = await (inviteToken === null
      ? insertAccount(deps, em, account)
      : insertInvited(deps, em, { account, inviteToken }))
    await byProvider?.complete(em, user)
    const now = user.createdAt.getTime()
    return { user, created: true, issuedAt: await recordSignIn(em, { user, now, method: 'registration', client }) }
  })
  deps.afterCommit.publishEvents()
  return registered
}

/** A provider whose gate the operator has opened vouches for its people. Contract: 3, Approval. */
const needsApproval = ({ approvalRequired }: PlainSettings, gate: ByProvider['gate']): boolean =>
  approvalRequired && gate === 'gate'

/** Nobody could decide about the first account. Others wait for its commit, and then for an admin. */
async function isFirst(deps: RegistrationDeps, em: EntityManager, username: string): Promise<boolean> {
  await claimName(deps, em, username)
  const options = { fields: ['id'], lockMode: LockMode.PESSIMISTIC_WRITE } as const
  return (await em.findOne(InstanceSettings, { id: 1, firstAdminId: null }, options)) !== null
}

type Shown = { settings: PlainSettings; gate: ByProvider['gate']; inviteToken: unknown; isMoreAsked: boolean }

/**
 * The token of the invite to redeem, or null while the gate is open. Where more is asked than a name, an invite that is shown
 * stands for it, and is redeemed at an open gate too: it admits no more accounts than it has uses. The redemption decides.
 * Spec: Registration 4, 7; Contract: 3, Approval, Proof of work.
 */
async function checkLocalRegistrationOpen(
  { orm, clock, config }: RegistrationDeps,
  { settings, gate, inviteToken, isMoreAsked }: Shown,
): Promise<string | null> {
  const isOpen = gate === 'open' || (gate === 'gate' && isRegistrationOpen(settings, config))
  const isShown = inviteToken !== undefined && inviteToken !== null && inviteToken !== ''
  if (isOpen && !(isMoreAsked && isShown)) return null
  if (!isShown) throw refuse.invite_required()
  if (typeof inviteToken !== 'string') throw refuse.invite_invalid()
  const invite = await findInvite(orm.em.fork(), { token: inviteToken, now: clock.now() })
  if (invite?.status !== 'active') throw refuse.invite_invalid()
  return inviteToken
}

type Invited = { account: NewAccount; inviteToken: string }

async function insertInvited(deps: OperationContext, em: EntityManager, { account, inviteToken }: Invited) {
  const now = deps.clock.now()
  const invite = await lockActiveInvite(em, { token: inviteToken, now })
  const user = await insertAccount(deps, em, account)
  await recordRedemption(em, { invite, user, now })
  const payload = { inviteId: invite.id, name: invite.name, at: now, userId: user.id, usedCount: invite.usedCount }
  await enqueue(em, inviteRedeemed, payload, { id: deps.random.uuid(), requestId: account.requestId })
  return user
}
