/** The own origin: as the operator typed it, but for outer blanks and one slash at the end. wire: 1 */
export function ownOrigin(options: { publicOrigin?: string; domain?: string; port: number }): string {
  if (options.publicOrigin) return options.publicOrigin.trim().replace(/\/$/, '')
  return options.domain ? `https://${options.domain}` : `http://localhost:${options.port}`
}

const plainHosts = ['localhost', '127.0.0.1']

/** The WHATWG origin of a peer, or null where it is refused: http leads only to this machine. wire: 1 */
export function parsePeerOrigin(value: unknown): string | null {
  if (typeof value !== 'string' || !URL.canParse(value)) return null
  const url = new URL(value)
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && plainHosts.includes(url.hostname))
  return isAllowed ? url.origin : null
}

/** Host name without port. A bare `host:port` reads as a scheme and has none; a bare name keeps its case. wire: 1 */
export function hostOf(originOrName: string): string | null {
  if (!URL.canParse(originOrName)) return originOrName === '' ? null : originOrName
  return new URL(originOrName).hostname || null
}

export function isSameHost(one: string, other: string): boolean {
  const host = hostOf(one)
  return host !== null && host === hostOf(other)
}
