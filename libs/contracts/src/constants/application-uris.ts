import { parseUrl } from './origins.ts'

/** Those of RFC 8252, 7.3 and 8.3, as `URL` gives them. */
const ownComputer = /^(localhost|127\.0\.0\.1|\[::1\])$/
const isOnOwnComputer = ({ hostname }: URL): boolean => ownComputer.test(hostname)

/** https, or http on a loopback address. Without a fragment, a wildcard, a user or a password. */
export function isApplicationUri(uri: string): boolean {
  const url = parseUrl(uri)
  if (!url || url.username || url.password || /[#*\s\\]/.test(uri)) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOnOwnComputer(url))
}

/** Of a native application: a domain that its maker owns, reversed. RFC 8252, 7.1. */
export const isPrivateUseUri = (uri: string): boolean =>
  /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/[^#*\s\\]*$/.test(uri) && parseUrl(uri) !== null

/** Where programs on a person's own device receive answers: any of them can, at any port. RFC 8252, 7.1 and 7.3. */
export function isNativeUri(uri: string): boolean {
  const url = parseUrl(uri)
  return isPrivateUseUri(uri) || (url?.protocol === 'http:' && isOnOwnComputer(url))
}

/** A domain that the application claims: RFC 8252, 7.2. Nobody claims the own computer. */
export function isClaimedUri(uri: string): boolean {
  const url = parseUrl(uri)
  return url?.protocol === 'https:' && !isOnOwnComputer(url)
}
