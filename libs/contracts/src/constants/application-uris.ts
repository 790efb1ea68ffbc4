import { loopbackHost, parseUrl } from './origins.ts'

/** https, or http on a loopback address. Without a fragment, a wildcard, a user or a password. */
export function isApplicationUri(given: string): boolean {
  const url = parseUrl(given)
  if (!url || url.username || url.password || /[#*\s\\]/.test(given)) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHost.test(url.hostname))
}

/** Of a native application: a domain that its maker owns, reversed. RFC 8252, 7.1. */
export const isPrivateUseUri = (given: string): boolean =>
  /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/[^#*\s\\]*$/.test(given) && parseUrl(given) !== null
