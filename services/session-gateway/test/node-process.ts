/** Runs one session gateway and prints its url; ends when its standard input does. */
import { createMemoryStore } from '@gatehouse/auth'
import { connectNats } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase } from '@gatehouse/database'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import { startSessionGateway } from '@gatehouse/session-gateway'
import { internalSecret, jwtSecret, quick } from './harness.ts'

const { DATABASE_URL = '', NATS_URL = '', NATS_PREFIX = '' } = process.env
const log = createLog({ level: 'silent', service: 'session-gateway' })
const ports = {
  orm: await connectDatabase({ url: DATABASE_URL, connections: 4 }),
  bus: await connectNats({ url: NATS_URL, name: 'session-gateway', prefix: NATS_PREFIX, log }),
  store: createMemoryStore(systemClock),
  clock: systemClock,
  random: systemRandom,
  log,
  metrics: createMetrics(),
}
const timings = { ...quick, nodeSilenceMs: 400 }
const service = await startSessionGateway({ host: '127.0.0.1', port: 0, internalSecret, jwtSecret, timings }, ports)
process.stdout.write(`${service.url}\n`)
process.stdin.resume().once('end', () => process.exit(0))
