import { roleChanged } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { OperationContext } from '../../deps.ts'
import { readDemand } from '../accounts/judge-code.ts'
import { changeAmongAdmins, recordAccountEvent, type AdminAct, writeAuditEntry } from '../change-account.ts'

/** The last admin stays one, and a federated account never becomes one. Contract: 5, role. */
export async function setRole(deps: OperationContext, { isAdmin, ...act }: AdminAct & { isAdmin: boolean }) {
  const { actor, requestId } = act
  return await changeAmongAdmins(deps, act, async (user, em, { isLastAdmin }) => {
    // A stub cannot log in: as the only admin it would leave the instance without one.
    if (user.isStub()) throw refuse.target_is_stub()
    if (user.isAdmin === isAdmin) return { user }
    if (isAdmin && !user.isLocal()) throw refuse.federated_admin()
    if (!isAdmin && isLastAdmin) throw refuse.last_admin()
    user.setRole(isAdmin, await readDemand(em))
    const at = deps.clock.now()
    writeAuditEntry(em, { action: isAdmin ? 'user.promoted' : 'user.demoted', user, actor, at })
    return { user, state: await recordAccountEvent(em, deps, roleChanged, { user, at, actor, isAdmin, requestId }) }
  })
}
