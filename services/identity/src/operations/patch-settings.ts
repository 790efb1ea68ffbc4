import type { settingsBody } from '@gatehouse/contracts'
import { InstanceSettings, recordAudit } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'

type Input = { changes: z.infer<typeof settingsBody>; actor: { userId: string; username: string } }

/** Changes the settings named; registrationOpen null hands the decision back to the environment. Contract: 5. */
export async function patchSettings(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  { changes, actor }: Input,
): Promise<InstanceSettings> {
  return await orm.em.fork().transactional(async (em) => {
    const settings = await em.findOneOrFail(InstanceSettings, { id: 1 }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const detail = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    if (Object.keys(detail).length === 0) return settings
    em.assign(settings, detail)
    const at = new Date(clock.now())
    recordAudit(em, { action: 'settings.changed', actor, target: { type: 'settings', id: null }, detail, at })
    return settings
  })
}
