import { testServerTls } from './server-tls.ts'

/** Contract: 8, TLS to Redis and NATS. */
describe('TLS to Redis and NATS', () => {
  // `check` is shown an expired one. server-tls.system.test.ts has all.
  testServerTls({ redis: ['wrongName'], nats: ['strange'] })
})
