import { testServerTls, wrongCertificates } from './server-tls.ts'

/** Contract: 8, TLS to Redis and NATS. */
describe('TLS to Redis and NATS', () => {
  testServerTls({ redis: wrongCertificates, nats: wrongCertificates })
})
