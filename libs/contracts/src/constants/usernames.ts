import * as limits from './limits.ts'
import { normalizeHost } from './origins.ts'

const localPattern = /^[a-z0-9_]+$/
/** Of a stub whose name was taken. Contract: 7, stubs. */
const stubSuffix = /~[0-9a-f]{1,8}$/
const hostPattern = /^[a-zA-Z0-9._-]+$/

/** Usernames are compared and stored in lower case. Spec: User record. */
export function normalizeUsername(username: string): string {
  return username.trim().toLowerCase()
}

/** Takes a normalized username: capitals and outer spaces make it false. Spec: Registration 1. */
export function isLocalUsername(username: string): boolean {
  const { length } = username
  return length >= limits.localUsernameMin && length <= limits.localUsernameMax && localPattern.test(username)
}

/** Also for the domain of a federated username. Spec: Registration. */
export function isHost(host: string): boolean {
  return host.length >= 1 && host.length <= limits.hostMax && hostPattern.test(host)
}

/** Spec: Registration 2. A stub's suffix counts toward the length. */
export function isFederatedUsername(username: string): boolean {
  if (username.length > limits.federatedUsernameMax) return false
  const { baseName, domain } = parseFederatedUsername(username)
  if (domain === null || baseName.length > limits.localUsernameMax) return false
  return isLocalUsername(handleOf(baseName)) && isHost(domain)
}

/** Splits at the first `@`. Spec: Client session behaviour, identity helpers. */
export function parseFederatedUsername(username: string): { baseName: string; domain: string | null } {
  const at = username.indexOf('@')
  if (at < 0) return { baseName: username, domain: null }
  return { baseName: username.slice(0, at), domain: username.slice(at + 1) }
}

/** Whether the username names that host as its home, both in lower case and without port. Contract: 7, Login repair. */
export function isNameOfHost(username: string, host: string): boolean {
  const { domain } = parseFederatedUsername(username)
  return domain !== null && domain !== '' && normalizeHost(domain) === normalizeHost(host)
}

/** The username that a person means here: `@alice` and `alice@<own host>` are `alice`. Contract: 1, Names as typed. */
export function usernameHere(typed: string, ownHost: string): string {
  const username = normalizeUsername(typed).replace(/^@/, '')
  return isNameOfHost(username, ownHost) ? baseUsername(username) : username
}

/** A stub's suffix stays: `handleOf` removes that too. Spec: Login 5. */
export function baseUsername(username: string): string {
  return parseFederatedUsername(username).baseName
}

/** The base without a stub's suffix: what its home calls the user. */
export function handleOf(username: string): string {
  return baseUsername(username).replace(stubSuffix, '')
}
