import { connectRedisCache } from '@gatehouse/authority'
import { createLocalBus } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { startGateway, tuneGc } from '@gatehouse/gateway'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import { tell } from './child.ts'

/** The gateway as it runs distributed, but for the bus, which carries nothing here. */
const { UPSTREAM, REDIS, JWT_SECRET, INTERNAL_SECRET, UPSTREAMS_FILE } = process.env as Record<string, string>
tuneGc()
const log = createLog({ level: 'warn', service: 'gateway' })
const origins = [UPSTREAM!]
const gateway = await startGateway(
  {
    host: '127.0.0.1',
    port: 0,
    opsHost: '127.0.0.1',
    opsPort: 0,
    internalSecret: INTERNAL_SECRET!,
    jwtSecret: JWT_SECRET!,
    publicAddress: { origin: 'https://home.example', domain: 'home.example' },
    trustProxy: '',
    services: {
      identity: origins,
      invite: origins,
      'session-gateway': origins,
      'federation-fanout': origins,
      openid: origins,
    },
    redis: { url: REDIS! },
    webRoot: '/nonexistent',
    ...(UPSTREAMS_FILE && { upstreamsFile: UPSTREAMS_FILE }),
  },
  {
    bus: createLocalBus({ log }),
    accountStateCache: await connectRedisCache({ url: REDIS!, random: systemRandom, log }),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  },
)
tell({ port: gateway.port })
