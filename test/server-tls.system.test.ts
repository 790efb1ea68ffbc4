import { testServerTls, wrongCertificates } from './server-tls.ts'

/** Contract: 8, TLS to Redis and NATS. */
describe('TLS to Redis and NATS', function () {
  this.timeout(240_000)

  testServerTls({ redis: wrongCertificates, nats: wrongCertificates })
})
