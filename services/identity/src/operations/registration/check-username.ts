import {
  isLocalUsername,
  isReservedUsername,
  limits,
  parseFederatedUsername,
  refusals,
  usernameHere,
} from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { Registration, User } from '@gatehouse/domain'
import { refuse, type Refusal } from '@gatehouse/runtime'
import type { Deps } from '../../deps.ts'
import { isWaiting } from '../../queries/is-waiting.ts'
import { isRegistrationOpen, loadSettings } from '../../queries/load-settings.ts'

const readByName = batchedRead({ name: 'username_taken', entity: User, properties: ['username'], key: 'username' })

const readHeldByName = batchedRead({
  name: 'username_held',
  entity: Registration,
  properties: ['username', 'createdAt', 'deniedAt'],
  key: 'username',
})

/** The reasons that registration would give, before anything is entered. Spec: check-username; Contract: 3, check-username. */
export async function checkUsername(
  { orm, config, databaseTime }: Pick<Deps, 'orm' | 'config' | 'databaseTime'>,
  typed = '',
) {
  const username = usernameHere(typed, config.publicAddress.domain)
  if (username === '') throw withReason('username_required')
  const fault = findLocalFault(username)
  if (fault) return unavailable(fault)
  const settings = await loadSettings(orm.em)
  if (!isRegistrationOpen(settings, config)) throw withReason('registration_closed')
  const isTaken =
    isReservedUsername(username, settings.reservedUsernames) ||
    (await readByName(orm.em, username)) ||
    (await isHeld({ orm, databaseTime }, username))
  return isTaken ? unavailable(refuse.username_taken()) : { available: true }
}

/** By a registration that waits. Contract: 3, Approval. */
async function isHeld({ orm, databaseTime }: Pick<Deps, 'orm' | 'databaseTime'>, username: string): Promise<boolean> {
  const registration = await readHeldByName(orm.em, username)
  return registration !== undefined && isWaiting(registration, await databaseTime(orm.em.fork()))
}

const unavailable = ({ message: reason, code }: Refusal) => ({ available: false, reason, code })

const withReason = (code: 'username_required' | 'registration_closed'): Refusal =>
  refuse[code]({ fields: { available: false, reason: refusals[code].text } })

/** Throws username_length_invalid, username_characters_invalid. Spec: Registration 1. */
export function requireLocalUsername(username: string): void {
  const fault = findLocalFault(username)
  if (fault) throw fault
}

function findLocalFault(username: string): Refusal | null {
  if (isLocalUsername(username)) return null
  const isLength = username.length < limits.localUsernameMin || username.length > limits.localUsernameMax
  return isLength ? refuse.username_length_invalid() : refuse.username_characters_invalid()
}

/** The error for the first broken rule. Call it only with an invalid username. Spec: Registration 2. */
export function federatedFault(username: string): Refusal {
  const { baseName, domain } = parseFederatedUsername(username)
  if (domain === null) return refuse.replicated_username_format_required()
  if (username.length > limits.federatedUsernameMax) return refuse.username_too_long()
  return isLocalUsername(baseName) ? refuse.username_domain_part_invalid() : refuse.username_local_part_invalid()
}
