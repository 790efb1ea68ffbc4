import { expect } from 'chai'
import { readConfig } from './config.ts'

describe('Configuration of the invite service', () => {
  const required = {
    DATABASE_URL: 'postgres://localhost/gatehouse',
    NATS_URL: 'nats://localhost:4222',
    REDIS_URL: 'redis://localhost:6379',
    INTERNAL_SECRET: 'x'.repeat(32),
  }

  it('makes links on the public origin, which follows the domain', () => {
    expect(readConfig(required)).to.deep.include({ host: '0.0.0.0', port: 8082 })
    expect(readConfig({ ...required, DOMAIN: 'chat.example' }).publicAddress.origin).to.equal('https://chat.example')
    expect(readConfig({ ...required, PUBLIC_ORIGIN: 'http://127.0.0.1:9/' }).publicAddress.origin).to.equal(
      'http://127.0.0.1:9',
    )
  })

  it('names every fault at once', () => {
    const read = () => readConfig({ ...required, NATS_URL: '', INTERNAL_SECRET: 'short', INVITE_PORT: 'x' })

    expect(read).to.throw(/NATS_URL: [\s\S]*INTERNAL_SECRET: [\s\S]*INVITE_PORT: /)
  })
})
