/** Runs one session gateway and prints its url; ends when its standard input does. */
import { connectNats } from '@gatehouse/bus'
import { openResources } from '@gatehouse/service-kit'
import { startSessionGateway } from '@gatehouse/session-gateway'
import { testCallerKeys } from '@gatehouse/test-kit'
import { quick } from './harness.ts'

const { DATABASE_URL = '', NATS_URL = '', NATS_PREFIX = '' } = process.env
const options = { logLevel: 'silent', postgres: { url: DATABASE_URL, connections: 4 } }
const resources = await openResources('session-gateway', options)
const bus = await connectNats({ url: NATS_URL, name: 'session-gateway', prefix: NATS_PREFIX, log: resources.log })
const config = { host: '127.0.0.1', port: 0, callerKeys: testCallerKeys }
const overrides = { timings: quick }
const service = await startSessionGateway(config, { ...resources, bus }, overrides)
process.stdout.write(`${service.url}\n`)
process.stdin.resume().once('end', () => process.exit(0))
