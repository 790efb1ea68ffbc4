import { testCallerKeys } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { readConfig } from './config.ts'

describe('Configuration of the invite service', () => {
  const required = {
    DATABASE_URL: 'postgres://localhost/gatehouse',
    NATS_URL: 'nats://localhost:4222',
    CALLER_KEYS: testCallerKeys.lines.join('\n'),
  }
  const originOf = (environment: Record<string, string>) => readConfig(environment).config.publicAddress.origin

  it('makes links on the public origin, which follows the domain', () => {
    expect(readConfig(required).config).to.deep.include({ host: '0.0.0.0', port: 8082 })
    expect(originOf({ ...required, DOMAIN: 'chat.example' })).to.equal('https://chat.example')
    expect(originOf({ ...required, PUBLIC_ORIGIN: 'http://127.0.0.1:9/' })).to.equal('http://127.0.0.1:9')
  })

  it('opens PostgreSQL and NATS, and no Redis', () => {
    expect(readConfig(required).resources).to.have.keys('logLevel', 'postgres', 'nats')
  })

  it('names every fault at once', () => {
    const read = () => readConfig({ ...required, NATS_URL: '', CALLER_KEYS: 'gateway short', INVITE_PORT: 'x' })

    expect(read).to.throw(/NATS_URL: [\s\S]*CALLER_KEYS: [\s\S]*INVITE_PORT: /)
  })
})
