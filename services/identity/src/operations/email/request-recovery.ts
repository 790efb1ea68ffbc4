import { isStorableText, type requestRecoveryBody } from '@gatehouse/contracts'
import { RecoveryRequest } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'

/**
 * Stores what was typed, whatever it is, and reads nothing: the sender finds the accounts later, so that neither the answer nor
 * its time tells whether there are any. Throws mail_off. Contract: 3, Mail.
 */
export async function requestRecovery(
  { orm, clock, config }: Pick<Deps, 'orm' | 'clock' | 'config'>,
  { username, email }: z.infer<typeof requestRecoveryBody>,
): Promise<void> {
  if (!config.mail) throw refuse.mail_off()
  const asked = { username: typedText(username), email: typedText(email) }
  await orm.em.fork().insert(RecoveryRequest, { asked, createdAt: new Date(clock.now()) })
}

const typedText = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= policy.recoveryAskedMax && isStorableText(value) ? value : null
