import { inviteRedeemed, normalizeUsername } from '@gatehouse/contracts'
import { enqueue } from '@gatehouse/bus'
import { violates } from '@gatehouse/database'
import { lockActiveInvite, recordRedemption, type Invite, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import {
  insertAccount,
  pickAvatarColor,
  refuseTakenName,
  type NewAccount,
  type Registered,
  type Registration,
  type RegistrationDeps,
} from './insert-account.ts'
import { checkLocalRegistrationOpen } from './registration-gates.ts'
import { requireLocalUsername } from './username-form.ts'

/**
 * Registers a native account. While registration is closed an active invite admits it and is redeemed in the same
 * transaction. Throws username_length_invalid, username_characters_invalid, invite_required, invite_invalid, username_taken, hashing_busy.
 * Spec: Registration 1, 3, 4, 9, 11.
 */
export async function registerLocal(deps: RegistrationDeps, registration: Registration): Promise<Registered> {
  const username = normalizeUsername(registration.username)
  requireLocalUsername(username)
  const inviteToken = await checkLocalRegistrationOpen(deps, registration.inviteToken)
  await refuseTakenName(deps.orm.em.fork(), username)

  const user = await insertUniquely(deps, inviteToken, {
    username,
    passwordHash: await deps.hasher.hash(registration.password, registration.address),
    displayName: registration.displayName ?? null,
    avatarColor: pickAvatarColor(deps, registration.avatarColor),
    home: null,
    requestId: registration.requestId,
  })
  deps.afterCommit.publishEvents()
  return { user, created: true, issuedAt: user.createdAt.getTime() }
}

/** Of concurrent registrations of one name the unique constraint admits one. Throws username_taken, invite_invalid. */
async function insertUniquely(deps: OperationContext, inviteToken: string | null, account: NewAccount): Promise<User> {
  const { orm, clock } = deps
  try {
    return await orm.em.fork().transactional(async (em) => {
      if (inviteToken === null) return await insertAccount(deps, em, account)
      const now = clock.now()
      const invite = await lockActiveInvite(em, { token: inviteToken, now })
      const user = await insertAccount(deps, em, account)
      await recordRedemption(em, { invite, user, now })
      await enqueueRedemption(deps, em, { invite, user, now, requestId: account.requestId })
      return user
    })
  } catch (error) {
    if (violates(error, 'users_username_unique')) throw refuse.username_taken({ cause: error })
    throw error
  }
}

type Redemption = { invite: Invite; user: User; now: number; requestId: string | undefined }

async function enqueueRedemption(
  { random }: OperationContext,
  em: EntityManager,
  { invite, user, now, requestId }: Redemption,
): Promise<void> {
  const { id: inviteId, name, usedCount } = invite
  const payload = { inviteId, name, at: now, userId: user.id, usedCount }
  await enqueue(em, inviteRedeemed, payload, { id: random.uuid(), requestId })
}
