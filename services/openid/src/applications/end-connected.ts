import { type ActingCaller, assertCallerCurrent } from '@gatehouse/authority'
import { transaction } from '@gatehouse/database'
import { ApplicationConsent } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { endGrantsOf } from '../grants/end-grants.ts'
import type { Fact } from '../notices/told-events.ts'
import { tellApplication } from '../notices/write-notices.ts'

type Ending = { caller: ActingCaller; id: string }

/** Dead with the commit, and the application is told. Throws application_unknown. Contract: 3, Applications. */
export async function endConnected(
  { orm, clock, random, notices }: Pick<Deps, 'orm' | 'clock' | 'random' | 'notices'>,
  { caller, id: applicationId }: Ending,
): Promise<void> {
  const { userId: accountId } = caller
  const of = { accountId, at: clock.now() }
  const facts: Fact[] = [
    { kind: 'logout', ...of },
    { kind: 'session-revoked', ...of, by: 'user' },
  ]
  await transaction(orm, async (em) => {
    await assertCallerCurrent(em, caller)
    if ((await em.count(ApplicationConsent, { accountId, applicationId })) === 0) throw refuse.application_unknown()
    await endGrantsOf(em, { accountId, applicationId })
    await tellApplication(em, applicationId, { eventId: random.uuid(), facts })
  })
  notices.notify()
}
