import { enqueue } from '@gatehouse/bus'
import { inviteRedeemed, normalizeUsername } from '@gatehouse/contracts'
import { lockActiveInvite, recordRedemption, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { recordSignIn } from '../credentials/sign-ins.ts'
import {
  insertAccount,
  insertUniquely,
  readRegistration,
  refuseTakenName,
  type NewAccount,
  type Registered,
  type Registration,
  type RegistrationDeps,
} from './insert-account.ts'
import { checkLocalRegistrationOpen } from './registration-gates.ts'
import { requireLocalUsername } from './username-form.ts'

/**
 * While registration is closed an active invite admits the account. Throws username_length_invalid,
 * username_characters_invalid, invite_required, invite_invalid, username_taken, hashing_busy. Spec: Registration 1, 3, 4,
 * 9, 11.
 */
export async function registerLocal(deps: RegistrationDeps, registration: Registration): Promise<Registered> {
  const username = normalizeUsername(registration.username)
  requireLocalUsername(username)
  const inviteToken = await checkLocalRegistrationOpen(deps, registration.inviteToken)
  await refuseTakenName(deps.orm.em.fork(), username)
  const account = { ...(await readRegistration(deps, registration)), username, home: null }
  const insert = async (em: EntityManager) => {
    const user = await (inviteToken === null
      ? insertAccount(deps, em, account)
      : insertInvited(deps, em, { account, inviteToken }))
    const at = user.createdAt.getTime()
    await recordSignIn(em, { userId: user.id, at, method: 'registration', client: registration.client })
    return user
  }
  const user = await insertUniquely(deps, insert)
  deps.afterCommit.publishEvents()
  return { user, created: true, issuedAt: user.createdAt.getTime() }
}

type Invited = { account: NewAccount; inviteToken: string }

/** Throws invite_invalid. */
async function insertInvited(
  deps: OperationContext,
  em: EntityManager,
  { account, inviteToken }: Invited,
): Promise<User> {
  const now = deps.clock.now()
  const invite = await lockActiveInvite(em, { token: inviteToken, now })
  const user = await insertAccount(deps, em, account)
  await recordRedemption(em, { invite, user, now })
  const payload = { inviteId: invite.id, name: invite.name, at: now, userId: user.id, usedCount: invite.usedCount }
  await enqueue(em, inviteRedeemed, payload, { id: deps.random.uuid(), requestId: account.requestId })
  return user
}
