import { normalizeUsername, refusals } from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'
import { refuse, type Refusal } from '@gatehouse/runtime'
import { isRegistrationOpen, loadSettings } from '../../queries/load-settings.ts'
import { findLocalFault } from './username-form.ts'

export type Availability = { available: true } | { available: false; reason: string; code?: string }

const readByName = batchedRead({
  name: 'username_taken',
  entity: User,
  properties: ['username'],
  key: 'username',
})

/** Throws username_required, registration_closed. Spec: check-username; Contract: 3. */
export async function checkUsername(
  { orm, config }: Pick<Deps, 'orm' | 'config'>,
  requested: string | undefined,
): Promise<Availability> {
  const username = normalizeUsername(requested ?? '')
  if (username === '') throw withReason('username_required')
  const fault = findLocalFault(username)
  if (fault) return unavailable(fault)
  if (!isRegistrationOpen(await loadSettings(orm.em), config)) throw withReason('registration_closed')
  const taken = await readByName(orm.em, username)
  return taken ? unavailable(refuse.username_taken()) : { available: true }
}

const unavailable = ({ message: reason, code }: Refusal): Availability => ({ available: false, reason, code })

function withReason(code: 'username_required' | 'registration_closed'): Refusal {
  return refuse[code]({ fields: { available: false, reason: refusals[code].text } })
}
