import { isLocalUsername, normalizeUsername, type registerBody } from '@gatehouse/contracts'
import { violates } from '@gatehouse/database'
import { redeemInvite } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { insertAccount, pickAvatarColor, refuseTakenName, type NewAccount, type Registered } from './insert-account.ts'
import { passLocalGate } from './registration-gates.ts'

type Input = z.output<typeof registerBody> & { requestId?: string | undefined }
type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'hasher' | 'config' | 'relay'>

/**
 * Makes a native account. When the gate is closed, an invite opens it and is used up in the same transaction. Throws
 * username_invalid, registration_closed, invite_unavailable, username_taken, hashing_busy.
 * Spec: Registration 1, 3, 4, 9, 11.
 */
export async function registerLocal(deps: Needs, input: Input): Promise<Registered> {
  const username = normalizeUsername(input.username)
  if (!isLocalUsername(username)) throw refuse.username_invalid()
  const inviteToken = await passLocalGate(deps, input.inviteToken)
  await refuseTakenName(deps.orm.em.fork(), username)

  const account: NewAccount = {
    username,
    passwordHash: await deps.hasher.hash(input.password),
    displayName: input.displayName ?? null,
    avatarColor: pickAvatarColor(deps, input.avatarColor),
    home: null,
    requestId: input.requestId,
  }
  const user = await insertOnce(deps, account, inviteToken)
  deps.relay.kick()
  return { user, created: true, issuedAt: user.createdAt.getTime() }
}

/** Two who want the same name at once: the database lets one in. */
async function insertOnce(deps: Needs, account: NewAccount, inviteToken: string | null) {
  try {
    return await deps.orm.em.fork().transactional(async (em) => {
      const insertUser = () => insertAccount(deps, em, account)
      if (inviteToken === null) return await insertUser()
      return await redeemInvite(em, { token: inviteToken, now: deps.clock.now(), insertUser })
    })
  } catch (error) {
    if (violates(error, 'users_username_unique')) throw refuse.username_taken({ cause: error })
    throw error
  }
}
