import { normalizeUsername, type operatorEndpoints } from '@gatehouse/contracts'
import { operator } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import type { z } from 'zod'
import { policy } from '../../policy.ts'
import {
  insertAccount,
  insertUniquely,
  pickAvatarColor,
  refuseUnfreeName,
  type Registration,
  type RegistrationDeps,
} from '../accounts/insert-account.ts'
import { writeAuditEntry } from '../change-account.ts'
import { requireLocalUsername } from '../registration/check-username.ts'

type NewUser = z.infer<typeof operatorEndpoints.createUser.body> & Pick<Registration, 'address' | 'requestId'>

/** No gate applies. Without a password the account gets a temporary one. Spec: Registration 1, 9. */
export async function createUser(deps: RegistrationDeps, { password, address, requestId, ...fields }: NewUser) {
  const username = normalizeUsername(fields.username)
  requireLocalUsername(username)
  await refuseUnfreeName(deps, username)
  const temporaryPassword = password ? null : randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(password ?? temporaryPassword ?? '', address)
  const { displayName = null } = fields
  const avatarColor = pickAvatarColor(deps, undefined)
  const account = { username, passwordHash, hasPassword: true, displayName, avatarColor, home: null }
  const user = await insertUniquely(deps, async (em) => {
    const created = await insertAccount(deps, em, { ...account, requestId })
    created.passwordChangeRequired = temporaryPassword !== null
    writeAuditEntry(em, { action: 'user.created', user: created, actor: operator, at: created.createdAt.getTime() })
    return created
  })
  deps.afterCommit.publishEvents()
  return { user, temporaryPassword }
}
