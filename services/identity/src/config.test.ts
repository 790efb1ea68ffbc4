import { testCallerKeys } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { ConfigurationError } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'

const environment = {
  DATABASE_URL: 'postgres://127.0.0.1/gatehouse',
  NATS_URL: 'nats://127.0.0.1:4222',
  REDIS_URL: 'redis://127.0.0.1:6379',
  CALLER_KEYS: testCallerKeys.lines.join('\n'),
  JWT_SECRET: 'j'.repeat(32),
  ENCRYPTION_SECRET: 'e'.repeat(32),
}

describe('Configuration of the identity service', () => {
  it('keeps the defaults of the specification', () => {
    expect(readConfig(environment).config).to.deep.include({ jwtExpiresIn: '30d', registrationOpen: true })
  })

  it('takes what the environment says', () => {
    const given = { ...environment, JWT_EXPIRES_IN: '12h', REGISTRATION_OPEN: 'false', DOMAIN: 'Chat.Example' }

    const { config } = readConfig(given)

    expect(config).to.include({ jwtExpiresIn: '12h', registrationOpen: false })
    expect(config.publicAddress).to.deep.equal({ origin: 'https://chat.example', domain: 'chat.example' })
  })

  it('refuses to start with a JWT_SECRET of fewer than 32 characters, and names every fault at once', () => {
    const faulty = { ...environment, JWT_SECRET: 'j'.repeat(31), JWT_EXPIRES_IN: 'soon', HASHING_THREADS: '0' }

    expect(() => readConfig(faulty))
      .to.throw(ConfigurationError)
      .with.property('message')
      .that.matches(/^JWT_SECRET: .*\nJWT_EXPIRES_IN: .*\nHASHING_THREADS: .*$/)
  })
})
