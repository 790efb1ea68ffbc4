import { isLocalUsername, normalizeUsername } from '@gatehouse/contracts'
import { prepareRead } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { loadSettings } from '../../queries/load-settings.ts'
import { isRegistrationOpen } from './registration-gates.ts'

export type Availability = { available: true } | { available: false; reason: string }

const readByName = prepareRead({
  name: 'username_taken',
  entity: User,
  properties: ['id'],
  where: 'users.username = $1',
})

const unavailable = ({ message: reason }: { message: string }): Availability => ({ available: false, reason })

/**
 * Whether a local name could be registered now: its form first, then the gate, then whether it is taken. Throws
 * username_missing and username_check_closed, which carry the same fields. Spec: check-username; Contract: 3.
 */
export async function checkUsername(
  { orm, config }: Pick<Deps, 'orm' | 'config'>,
  requested: string | undefined,
): Promise<Availability> {
  const username = normalizeUsername(requested ?? '')
  if (username === '') throw withReason(refuse.username_missing)
  if (!isLocalUsername(username)) return unavailable(refuse.username_invalid())
  if (!isRegistrationOpen(await loadSettings(orm.em), config)) throw withReason(refuse.username_check_closed)
  const [taken] = await readByName(orm.em, [username])
  return taken ? unavailable(refuse.username_taken()) : { available: true }
}

function withReason(refusal: typeof refuse.username_missing) {
  return refusal({ fields: unavailable(refusal()) })
}
