import type { ServiceName } from '@gatehouse/contracts'
import type { Clock } from '@gatehouse/runtime'
import type { Log } from '@gatehouse/service-kit'
import type { InProcessReplicas } from '../proxy/in-process.ts'
import { openReplicas, type Replicas } from '../proxy/replicas.ts'
import type { Capacity, Timeouts } from '../policy.ts'
import type { ResolveAddresses } from './address-resolver.ts'
import { discoverOrigins, type Discovery } from './discover-origins.ts'

type Options = {
  clock: Clock
  log: Log
  timeouts: Timeouts
  capacity: Capacity
  resolve: ResolveAddresses
  inProcess?: InProcessReplicas | undefined
}

export type DiscoveredReplicas = AsyncDisposable & {
  readonly replicas: Replicas
  /** Requests under way end normally. Resolves when the addresses are known, or late. */
  follow(urls: readonly string[]): Promise<void>
}

export function openDiscoveredReplicas(options: Options): DiscoveredReplicas {
  let discovery: Discovery | undefined
  let changes = 0
  const replicas = openReplicas([], { ...options, onFailed: () => discovery?.refresh() })
  return {
    replicas,
    follow: async (urls) => {
      const before = discovery
      const change = (changes += 1)
      // A late answer for old names is ignored.
      const onOrigins = (origins: readonly string[]): void => {
        if (change === changes) replicas.setOrigins(origins)
      }
      if (before) replicas.setOrigins([])
      const { resolved } = (discovery = discoverOrigins({ ...options, urls, onOrigins }))
      await Promise.all([before?.[Symbol.asyncDispose](), resolved])
    },
    [Symbol.asyncDispose]: async () => {
      await discovery?.[Symbol.asyncDispose]()
      await replicas[Symbol.asyncDispose]()
    },
  }
}

export async function discoverServices(
  opening: AsyncDisposableStack,
  services: Record<ServiceName, readonly string[]>,
  options: Options,
): Promise<Record<ServiceName, Replicas>> {
  const resolved: Promise<void>[] = []
  function open(name: ServiceName): Replicas {
    const { replicas, follow } = opening.use(openDiscoveredReplicas(options))
    resolved.push(follow(services[name]))
    return replicas
  }
  const replicas = {
    identity: open('identity'),
    invite: open('invite'),
    'session-gateway': open('session-gateway'),
    'federation-fanout': open('federation-fanout'),
  }
  await Promise.all(resolved)
  return replicas
}
