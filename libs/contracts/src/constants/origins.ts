const originPattern = /^https?:\/\/[^\s/?#@\\]{1,300}\/?$/i

/**
 * An http or https origin in its one spelling: `https://Chat.example:443/` is `https://chat.example`. Null for text
 * that is more than an origin (a path, a query, credentials) or less, and for other schemes.
 */
export function normalizeOrigin(text: string): string | null {
  const trimmed = text.trim()
  return originPattern.test(trimmed) ? (URL.parse(trimmed)?.origin ?? null) : null
}

/** A host as hosts are compared: lower case, without its port. Contract: 7. */
export function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}
