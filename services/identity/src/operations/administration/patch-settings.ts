import { type ActingAdmin, assertCallerCurrent } from '@gatehouse/authority'
import { isDeepStrictEqual } from 'node:util'
import { secondFactorChanged, settingsChanged, type AccountState, type settingsBody } from '@gatehouse/contracts'
import { recordAudit, transaction } from '@gatehouse/database'
import { InstanceSettings, type Actor } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { lockLocalAdmins, lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../change-account.ts'
import { replaceLogo } from '../profile/update-upload-references.ts'

type SettingsChange = { changes: z.infer<typeof settingsBody>; actor: ActingAdmin; requestId?: string | undefined }

/** With registrationOpen null the environment decides. The event names settings whose value changed. Contract: 5, settings. */
export async function patchSettings(deps: OperationContext & Pick<Deps, 'uploadCleanup'>, input: SettingsChange) {
  const { changes, actor, requestId } = input
  const { settings, states, replacedFiles } = await transaction(deps.orm, async (em) => {
    const { requireSecondFactorForAdmins: isDemanded, logo } = changes
    // Before the settings, and in their order.
    const admins = isDemanded === undefined ? [] : await lockLocalAdmins(em)
    await assertCallerCurrent(em, actor, { admin: true })
    const settings = await em.findOneOrFail(InstanceSettings, { id: 1 }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const detail = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    if (Object.keys(detail).length === 0) return { settings, states: [], replacedFiles: 0 }
    const at = deps.clock.now()
    const now = new Date(at)
    const changed = Object.keys(detail).filter(
      (name) => !isDeepStrictEqual(settings[name as keyof typeof changes], detail[name]),
    )
    const replacedFiles = logo === undefined ? 0 : await replaceLogo(em, { settings, actor, now, logo })
    em.assign(settings, detail)
    recordAudit(em, { action: 'settings.changed', actor, target: { type: 'settings', id: null }, detail, at: now })
    if (changed.length === 0) return { settings, states: [], replacedFiles }
    await enqueue(em, settingsChanged, { at, actor, changed }, { id: deps.random.uuid(), requestId })
    const demand = { isDemanded: isDemanded ?? false, adminIds: admins.map(({ id }) => id), actor, requestId }
    return { settings, states: await demandOfAdmins(deps, em, demand), replacedFiles }
  })
  deps.afterCommit.publishEvents()
  for (const state of states) await deps.afterCommit.invalidateCache(state)
  if (replacedFiles > 0) await deps.uploadCleanup.removeRecordedFiles()
  return settings
}

type Demand = { isDemanded: boolean; adminIds: readonly string[]; actor: Actor; requestId: string | undefined }

/** What a change of the setting means for each admin, who are locked. Contract: 3, Second factor. */
async function demandOfAdmins(deps: OperationContext, em: EntityManager, demand: Demand): Promise<AccountState[]> {
  const { isDemanded, adminIds, actor, requestId } = demand
  const states: AccountState[] = []
  for (const id of adminIds) {
    const user = await lockUser(em, id)
    if (!user?.demandSecondFactor({ ofAdmins: isDemanded })) continue
    const facts = { user, at: deps.clock.now(), actor, change: isDemanded ? 'due' : 'optional', requestId } as const
    states.push(await recordAccountEvent(em, deps, secondFactorChanged, facts))
  }
  return states
}
