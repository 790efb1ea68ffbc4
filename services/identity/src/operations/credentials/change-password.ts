import { passwordChanged, type changePasswordBody } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf, recordAccountEvent, type OwnAct } from '../change-account.ts'
import { revocationTime } from './revocation-time.ts'
import { verifyOwnPassword } from './verify-password.ts'

type PasswordChange = z.infer<typeof changePasswordBody> & OwnAct & { address: string }

const refusals = { missing: 'current_password_required', wrong: 'current_password_incorrect' } as const

/**
 * Revokes every earlier token. The fresh one is of `issuedAt`, the time of the change. With a ticket, an account gets its first
 * password. Spec: change-password 1-4; Contract: 3, change-password.
 */
export async function changePassword(deps: OperationContext & Pick<Deps, 'hasher'>, change: PasswordChange) {
  const { caller, currentPassword, newPassword, requestId, ...confirmation } = change
  const before = await loadCaller(deps, caller)
  const confirm = await verifyOwnPassword(deps, before, { ...confirmation, password: currentPassword, ...refusals })
  const passwordHash = await deps.hasher.hash(newPassword, change.address)
  const { state, ...changed } = await changeSelf(deps, caller, async (user, em) => {
    await confirm(user, em)
    refuseOutdated(before, user)
    const issuedAt = await revocationTime(deps, em, { user, caller })
    user.changePassword(passwordHash, issuedAt)
    await enqueueNotice(em, { user, kind: 'password_changed', at: issuedAt })
    const facts = { user, at: issuedAt, tokenIssuedAt: caller.tokenIssuedAt, requestId }
    const state = await recordAccountEvent(em, deps, passwordChanged, facts)
    return { user, issuedAt, state }
  })
  await deps.afterCommit.invalidateCache(state)
  return changed
}

/** An earlier release changes it in the second of the caller's token. */
function refuseOutdated(before: User, now: User): void {
  if (now.passwordChangedAt !== before.passwordChangedAt) throw refuse.password_changed_meanwhile()
}
