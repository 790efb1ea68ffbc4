import { secondFactorChanged, type AccountState } from '@gatehouse/contracts'
import { InstanceSettings, type Actor, type SecondFactorDemand } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../change-account.ts'

/** Whether admins need a second factor. The setting stays until the transaction ends: lock accounts before it. */
export async function readDemand(em: EntityManager): Promise<SecondFactorDemand> {
  const settings = await em.findOneOrFail(InstanceSettings, { id: 1 }, { lockMode: LockMode.PESSIMISTIC_READ })
  return { ofAdmins: settings.requireSecondFactorForAdmins }
}

type Demand = { isDemanded: boolean; adminIds: readonly string[]; actor: Actor; requestId: string | undefined }

/** What a change of the setting means for each admin, who are locked. Contract: 3, Second factor. */
export async function demandOfAdmins(
  deps: OperationContext,
  em: EntityManager,
  { isDemanded, adminIds, actor, requestId }: Demand,
): Promise<AccountState[]> {
  const states: AccountState[] = []
  for (const id of adminIds) {
    const user = await lockUser(em, id)
    if (!user?.demandSecondFactor({ ofAdmins: isDemanded })) continue
    const facts = { user, at: deps.clock.now(), actor, change: isDemanded ? 'due' : 'optional', requestId } as const
    states.push(await recordAccountEvent(em, deps, secondFactorChanged, facts))
  }
  return states
}
