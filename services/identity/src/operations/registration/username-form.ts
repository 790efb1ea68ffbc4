import { isLocalUsername, limits, parseFederatedUsername } from '@gatehouse/contracts'
import { refuse, type Refusal } from '@gatehouse/runtime'

/** Throws username_length_invalid, username_characters_invalid. Spec: Registration 1. */
export function requireLocalUsername(username: string): void {
  const refusal = findLocalFault(username)
  if (refusal) throw refusal
}

export function findLocalFault(username: string): Refusal | null {
  if (isLocalUsername(username)) return null
  const isLength = username.length < limits.localUsernameMin || username.length > limits.localUsernameMax
  return isLength ? refuse.username_length_invalid() : refuse.username_characters_invalid()
}

/** Spec: Registration 2. */
export function federatedFault(username: string): Refusal {
  const { baseName, domain } = parseFederatedUsername(username)
  if (domain === null) return refuse.replicated_username_format_required()
  if (username.length > limits.federatedUsernameMax) return refuse.username_too_long()
  return isLocalUsername(baseName) ? refuse.username_domain_part_invalid() : refuse.username_local_part_invalid()
}
