import { normalizeUsername } from '@gatehouse/contracts'
import { violates } from '@gatehouse/database'
import { operator, recordAudit, type User } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'
import {
  insertAccount,
  pickAvatarColor,
  refuseTakenName,
  type RegistrationDeps,
} from '../registration/insert-account.ts'
import { requireLocalUsername } from '../registration/username-form.ts'

type NewUser = {
  username: string
  displayName?: string | null | undefined
  password?: string | undefined
  address: string
  requestId?: string | undefined
}

/**
 * The operator makes a local account, whatever the gates say. Without a password it gets a temporary one, which its
 * person has to replace. The first local account becomes admin here too. Throws username_length_invalid, username_characters_invalid, username_taken,
 * hashing_busy. Spec: Registration 1, 9.
 */
export async function createUser(
  deps: RegistrationDeps,
  account: NewUser,
): Promise<{ user: User; temporaryPassword: string | null }> {
  const username = normalizeUsername(account.username)
  requireLocalUsername(username)
  await refuseTakenName(deps.orm.em.fork(), username)
  const temporaryPassword = account.password ? null : randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(account.password ?? temporaryPassword ?? '', account.address)
  const user = await insertOperatorsAccount(deps, {
    username,
    passwordHash,
    displayName: account.displayName ?? null,
    isTemporary: temporaryPassword !== null,
    requestId: account.requestId,
  })
  deps.afterCommit.publishEvents()
  return { user, temporaryPassword }
}

type Row = {
  username: string
  passwordHash: string
  displayName: string | null
  isTemporary: boolean
  requestId: string | undefined
}

/** Of concurrent accounts of one name the unique constraint admits one. Throws username_taken. */
async function insertOperatorsAccount(deps: RegistrationDeps, { isTemporary, ...row }: Row): Promise<User> {
  try {
    return await deps.orm.em.fork().transactional(async (em) => {
      const avatarColor = pickAvatarColor(deps, undefined)
      const user = await insertAccount(deps, em, { ...row, avatarColor, home: null })
      user.passwordChangeRequired = isTemporary
      const target = { type: 'user' as const, id: user.id }
      recordAudit(em, { action: 'user.created', actor: operator, target, at: user.createdAt })
      await em.flush()
      return user
    })
  } catch (error) {
    if (violates(error, 'users_username_unique')) throw refuse.username_taken({ cause: error })
    throw error
  }
}
