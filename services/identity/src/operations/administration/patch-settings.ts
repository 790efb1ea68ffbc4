import { enqueue } from '@gatehouse/bus'
import { settingsChanged, type settingsBody } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { InstanceSettings, assertCallerCurrent, recordAudit, type ActingAdmin } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { lockLocalAdmins } from '../../queries/load-user.ts'
import { replaceLogo } from '../profile/update-upload-references.ts'
import { demandOfAdmins } from '../second-factor/demand-of-admins.ts'

type SettingsChange = { changes: z.infer<typeof settingsBody>; actor: ActingAdmin; requestId?: string | undefined }

/**
 * With registrationOpen null the environment decides. The event names settings whose value changed. Throws as
 * `assertCallerCurrent` and `replaceLogo` do. Contract: 5.
 */
export async function patchSettings(
  deps: OperationContext & Pick<Deps, 'afterCommit' | 'uploadCleanup'>,
  { changes, actor, requestId }: SettingsChange,
): Promise<InstanceSettings> {
  const { settings, states, replacedFiles } = await transaction(deps.orm, async (em) => {
    const { requireSecondFactorForAdmins: isDemanded } = changes
    // Before the settings, and in their order.
    const admins = isDemanded === undefined ? [] : await lockLocalAdmins(em)
    await assertCallerCurrent(em, actor, { admin: true })
    const settings = await em.findOneOrFail(InstanceSettings, { id: 1 }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const detail = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    if (Object.keys(detail).length === 0) return { settings, states: [], replacedFiles: 0 }
    const now = deps.clock.now()
    const changed = Object.keys(detail).filter((name) => settings[name as keyof typeof changes] !== detail[name])
    const { logo } = changes
    const logoChange = { settings, actor, now: new Date(now) }
    const replacedFiles = logo === undefined ? 0 : await replaceLogo(em, { ...logoChange, logo })
    em.assign(settings, detail)
    const target = { type: 'settings' as const, id: null }
    recordAudit(em, { action: 'settings.changed', actor, target, detail, at: new Date(now) })
    if (changed.length === 0) return { settings, states: [], replacedFiles }
    await enqueue(em, settingsChanged, { at: now, actor, changed }, { id: deps.random.uuid(), requestId })
    const adminIds = admins.map(({ id }) => id)
    const states = await demandOfAdmins(deps, em, { isDemanded: isDemanded ?? false, adminIds, actor, requestId })
    return { settings, states, replacedFiles }
  })
  deps.afterCommit.publishEvents()
  for (const state of states) await deps.afterCommit.invalidateCache(state)
  if (replacedFiles > 0) await deps.uploadCleanup.removeRecordedFiles({ atMost: policy.filesRemovedAtOnce })
  return settings
}
