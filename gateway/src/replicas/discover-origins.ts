import { isIP } from 'node:net'
import { lookup, Resolver } from 'node:dns/promises'
import { resolveAddresses } from '@gatehouse/outbound/reach'
import { shareWork, startPeriodicTask, withTimeout } from '@gatehouse/runtime'
import { ConfigurationError, type Log } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'

export type Discovery = ReturnType<typeof discoverOrigins>
export type DiscoveryOptions = { resolve: ResolveAddresses; log: Log }

/** Each address of a name is an origin. An unresolved name keeps its addresses. URLs with an address or https stay as they are. */
export function discoverOrigins(
  urls: readonly string[],
  { resolve, log }: DiscoveryOptions,
  onOrigins: (origins: readonly string[]) => void,
) {
  const names = urls.filter(isResolvable)
  const originsOf = new Map(urls.map((url) => [url, names.includes(url) ? [] : [url]]))
  const unresolved = new Set<string>()
  let reported: string | undefined
  let isStopped = false

  function report(): void {
    const origins = [...new Set([...originsOf.values()].flat())].sort()
    if (isStopped || origins.join() === reported) return
    if (names.length > 0 && reported !== undefined) log.info({ urls, origins }, 'replicas discovered')
    reported = origins.join()
    onOrigins(origins)
  }

  async function resolveName(url: string): Promise<void> {
    const { hostname, port } = new URL(url)
    try {
      const hosts = (await resolve(hostname)).map((address) => (isIP(address) === 6 ? `[${address}]` : address))
      const origins = hosts.map((host) => `http://${host}:${port || '80'}`)
      originsOf.set(url, origins)
      unresolved.delete(url)
      report()
    } catch (err) {
      if (!unresolved.has(url)) log.warn({ err, host: hostname }, 'service name not resolved')
      unresolved.add(url)
    }
  }

  const attempt = shareWork(resolveName)

  /** A late answer still counts. Never rejects. */
  async function resolveInTime(url: string): Promise<void> {
    await withTimeout(attempt(url), policy.discoveryLimitMs, () => new Error('late')).catch(() => undefined)
  }

  report()
  const options = { name: 'replica discovery', everyMs: policy.discoveryMs, log }
  const task = names.length > 0 ? startPeriodicTask(options, () => Promise.all(names.map(resolveInTime))) : undefined
  let pending: NodeJS.Timeout | undefined
  return {
    refresh: (): void => {
      pending ??= setTimeout(() => {
        pending = undefined
        void task?.runNow()
      }, policy.rediscoveryMs).unref()
    },
    /** Resolves when each name is resolved, or late. */
    resolved: task?.runNow(),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      isStopped = true
      clearTimeout(pending)
      await task?.[Symbol.asyncDispose]()
    },
  }
}

function isResolvable(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0
}

type ResolveAddresses = (host: string) => Promise<string[]>

/** `servers` (`address:port`) resolve full names only; the system's resolver can hold a thread for 5 s. Throws ConfigurationError. */
export function createAddressResolver(servers: readonly string[]): ResolveAddresses {
  if (servers.length === 0) return async (host) => (await lookup(host, { all: true })).map(({ address }) => address)
  const resolver = new Resolver({ timeout: policy.dnsAttemptMs, tries: policy.dnsAttempts })
  try {
    resolver.setServers(servers)
  } catch (cause) {
    throw new ConfigurationError(['SERVICE_DNS: must be addresses of name servers such as 10.0.0.2:53'], { cause })
  }
  return (host) => resolveAddresses(resolver, host)
}
