import { isIP } from 'node:net'
import { startPeriodicTask, withTimeout } from '@gatehouse/runtime'
import type { Log } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import type { ResolveAddresses } from './address-resolver.ts'

export type Discovery = AsyncDisposable & {
  refresh(): void
  /** Resolves when each name is resolved, or late. */
  resolved: Promise<void>
}

type DiscoveryOptions = {
  urls: readonly string[]
  resolve: ResolveAddresses
  log: Log
  onOrigins(origins: readonly string[]): void
}

/**
 * Each address of a name is an origin. An unresolved name keeps its addresses. URLs with an address or https stay as they
 * are.
 */
export function discoverOrigins({ urls, resolve, log, onOrigins }: DiscoveryOptions): Discovery {
  const names = urls.filter(isResolvable).map((url) => new NamedUrl(url, resolve, log))
  const fixed = urls.filter((url) => !isResolvable(url))
  let present = ''

  function report(): void {
    const origins = [...new Set([...fixed, ...names.flatMap((name) => name.origins)])].sort()
    if (origins.join() === present) return
    if (names.length > 0) log.info({ urls, origins }, 'replicas discovered')
    present = origins.join()
    onOrigins(origins)
  }

  async function resolveAll(): Promise<void> {
    await Promise.all(names.map((name) => name.resolve(report)))
  }

  report()
  if (names.length === 0) {
    return { refresh: () => undefined, resolved: Promise.resolve(), [Symbol.asyncDispose]: async () => undefined }
  }
  const task = startPeriodicTask({ name: 'replica discovery', everyMs: policy.discoveryMs, log }, resolveAll)
  let pending: NodeJS.Timeout | undefined
  return {
    refresh: () => {
      pending ??= setTimeout(() => {
        pending = undefined
        void task.runNow()
      }, policy.rediscoveryMs).unref()
    },
    resolved: task.runNow(),
    [Symbol.asyncDispose]: async () => {
      clearTimeout(pending)
      await task[Symbol.asyncDispose]()
    },
  }
}

function isResolvable(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0
}

class NamedUrl {
  origins: string[] = []
  readonly #host: string
  readonly #port: string
  readonly #resolveAddresses: ResolveAddresses
  readonly #log: Log
  #underWay: Promise<void> | undefined
  #hasFailed = false

  constructor(url: string, resolveAddresses: ResolveAddresses, log: Log) {
    const { hostname, port } = new URL(url)
    this.#host = hostname
    this.#port = port || '80'
    this.#resolveAddresses = resolveAddresses
    this.#log = log
  }

  /** A late answer still counts. Never rejects. */
  async resolve(onOrigins: () => void): Promise<void> {
    this.#underWay ??= this.#attempt(onOrigins).finally(() => (this.#underWay = undefined))
    await withTimeout(this.#underWay, policy.discoveryLimitMs, () => new Error('late')).catch(() => undefined)
  }

  async #attempt(onOrigins: () => void): Promise<void> {
    try {
      const addresses = await this.#resolveAddresses(this.#host)
      this.origins = addresses.map(
        (address) => `http://${isIP(address) === 6 ? `[${address}]` : address}:${this.#port}`,
      )
      this.#hasFailed = false
      onOrigins()
    } catch (err) {
      if (!this.#hasFailed) this.#log.warn({ err, host: this.#host }, 'service name not resolved')
      this.#hasFailed = true
    }
  }
}
