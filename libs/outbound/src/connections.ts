import { isIP, type LookupFunction, type Socket } from 'node:net'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { Pool, buildConnector, errors } from 'undici'
import type { Target } from './target.ts'

const connectMs = 10_000

/** An idle connection stays open for `keepAliveTimeout`, or as the peer says up to `keepAliveMaxTimeout`. */
const poolOptions = { connections: 32, keepAliveTimeout: 4_000, keepAliveMaxTimeout: 30_000 }

/** Made once: the stack of an error costs as much as the rest of ending a pool. */
const poolEnded = new errors.ClientDestroyedError('The connections to this host have ended')

type Entry = { key: string; pool: Pool; users: number; connecting: Set<Socket> }

/** A pool belongs to the addresses that were checked. NOTE: undici's `Agent` would reuse connections to old addresses. */
export function createConnections() {
  const entries = new Map<string, Entry>()
  const open = new Set<Entry>()
  let secureContext: SecureContext | undefined
  const end = async (entry: Entry) => {
    if (!open.delete(entry)) return
    const ended = entry.pool.destroy(poolEnded)
    for (const socket of entry.connecting) socket.destroy(poolEnded) // the pool would wait for them
    await ended
  }
  const drop = (origin: string, entry: Entry) => {
    if (entry.users > 0) return
    const isCurrent = entries.get(origin) === entry
    if (isCurrent && entry.pool.stats.connected > 0) return
    if (isCurrent) entries.delete(origin)
    void end(entry)
  }
  const openEntry = (target: Target, key: string): Entry => {
    if (target.origin.startsWith('https:')) secureContext ??= createSecureContext({ ca: trustedCertificates() })
    const connecting = new Set<Socket>()
    const connect = buildPinnedConnector(target, connecting, secureContext)
    const pool = new Pool(target.origin, { connect, ...poolOptions })
    const entry = { key, pool, users: 0, connecting }
    open.add(entry)
    const dropSoon = () => setImmediate(drop, target.origin, entry)
    pool.on('disconnect', dropSoon).on('connectionError', dropSoon)
    return entry
  }
  return {
    /** The sockets go only to the target's checked addresses. */
    withPool: async <T>(target: Target, use: (pool: Pool) => Promise<T>): Promise<T> => {
      const key = [target.port, ...target.addresses].join(' ')
      const current = entries.get(target.origin)
      const entry = current?.key === key ? current : openEntry(target, key)
      entries.set(target.origin, entry)
      if (current && current !== entry) drop(target.origin, current)
      entry.users += 1
      try {
        return await use(entry.pool)
      } finally {
        entry.users -= 1
        drop(target.origin, entry)
      }
    },
    get size(): number {
      return open.size
    },
    [Symbol.asyncDispose]: async () => {
      entries.clear()
      await Promise.all([...open].map(end))
    },
  }
}

/** NOTE: a lookup or a signal would cost as much as a connection. bench/NOTES.md. */
function buildPinnedConnector({ addresses, port }: Target, connecting: Set<Socket>, secureContext?: SecureContext) {
  const [only] = addresses.length === 1 ? addresses : []
  const connect = buildConnector({
    allowH2: false,
    timeout: connectMs,
    ...(only === undefined && { lookup: pinnedLookup(addresses) }),
    ...(secureContext && { secureContext }),
  })
  const place = { ...(only !== undefined && { hostname: only }), ...(port !== undefined && { port: String(port) }) }
  const connectPinned: buildConnector.connector = (options, callback) => {
    // The types omit the returned socket.
    const socket = connect({ ...options, ...place }, (...outcome) => {
      connecting.delete(socket)
      callback(...outcome)
    }) as unknown as Socket
    connecting.add(socket)
  }
  return connectPinned
}

function pinnedLookup(addresses: string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    if (options.all) return callback(null, entries)
    const [first = { address: '', family: 0 }] = entries
    callback(null, first.address, first.family)
  }
}

/** Of Node, of NODE_EXTRA_CA_CERTS and of the system. Contract: 7, outbound requests. */
function trustedCertificates(): string[] {
  return [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
}
