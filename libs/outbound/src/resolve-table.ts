import { isIP } from 'node:net'

/** Without a port, the URL's port stays. */
export type ResolveTable = Record<string, { address: string; port?: number }>

const entryPattern = /^([^=\s]+)=(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/

/** `host=address:port,…`; the port may be missing. Throws with the faulty entry. Contract: 8, FEDERATION_RESOLVE. */
export function parseResolve(text: string): ResolveTable {
  const table: ResolveTable = {}
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue
    const { host, ...place } = parseEntry(entry)
    if (Object.hasOwn(table, host)) throw new Error(`"${host}" is in the table twice`)
    table[host] = place
  }
  return table
}

/** As in URLs: lower case, ASCII, no final dot. Undefined for anything else. */
export function normalizeHostName(host: string): string | undefined {
  if (/[\s:/?#@\\]/.test(host) || !URL.canParse(`http://${host}`)) return undefined
  const { hostname } = new URL(`http://${host}`)
  return isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : undefined
}

function parseEntry(entry: string): { host: string; address: string; port?: number } {
  const [, name = '', bracketed, plain, port] = entryPattern.exec(entry) ?? []
  const host = normalizeHostName(name)
  if (host === undefined) throw unreadable(entry, 'a host name, "=" and an address are needed')
  const address = bracketed ?? plain ?? ''
  if (isIP(address) !== (bracketed === undefined ? 4 : 6)) throw unreadable(entry, 'the address cannot be read')
  if (port === undefined) return { host, address }
  if (Number(port) < 1 || Number(port) > 65_535) throw unreadable(entry, 'the port must be from 1 to 65535')
  return { host, address, port: Number(port) }
}

function unreadable(entry: string, reason: string): Error {
  return new Error(`"${entry}" is not host=address:port: ${reason}`)
}
