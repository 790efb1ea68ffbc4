const originPattern = /^https?:\/\/[^\s/?#@\\]{1,300}\/?$/i

/** `https://Chat.example:443/` gives `https://chat.example`. Null for paths, queries, credentials and other schemes. */
export function normalizeOrigin(text: string): string | null {
  const trimmed = text.trim()
  return originPattern.test(trimmed) ? (URL.parse(trimmed)?.origin ?? null) : null
}

/** Lower case, no port. Contract: 7. */
export function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}
