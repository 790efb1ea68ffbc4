const originPattern = /^https?:\/\/[^\s/?#@\\]{1,300}\/?$/i

/** Null for what is none. `URL.parse` is newer than the oldest browsers. */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

/** `https://Chat.example:443/` gives `https://chat.example`. Null for paths, queries, credentials and other schemes. */
export function normalizeOrigin(text: string): string | null {
  const trimmed = text.trim()
  return originPattern.test(trimmed) ? (parseUrl(trimmed)?.origin ?? null) : null
}

/** As a person writes it: the scheme may be missing, a path is dropped. Null for credentials and other schemes. */
export function parseOrigin(address: string): string | null {
  const text = address.trim()
  const url = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`)
  return url && !url.username && !url.password ? normalizeOrigin(url.origin) : null
}

/** Lower case, no port. Contract: 7, refused requests. */
export function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}

/** As `URL` gives it. */
export const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
