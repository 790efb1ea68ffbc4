import { isLocalUsername, normalizeUsername } from '@gatehouse/contracts'
import { User, loadInstanceSettings } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { isRegistrationOpen } from './registration-gates.ts'

export type Availability = { available: true } | { available: false; reason: string }

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
  const em = orm.em.fork()
  if (!isRegistrationOpen(await loadInstanceSettings(em), config)) throw withReason(refuse.username_check_closed)
  const taken = (await em.count(User, { username })) > 0
  return taken ? unavailable(refuse.username_taken()) : { available: true }
}

function withReason(refusal: typeof refuse.username_missing) {
  return refusal({ fields: unavailable(refusal()) })
}
