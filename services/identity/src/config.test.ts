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

  it('takes a mail server, which needs TLS unless it is on this machine, and a sender', () => {
    const of = (SMTP_URL: string, more: Record<string, string> = {}) =>
      readConfig({ ...environment, SMTP_URL, MAIL_FROM: 'Chat <noreply@chat.example>', ...more }).config.mail
    const from = { name: 'Chat', address: 'noreply@chat.example' }

    expect(readConfig(environment).config).to.not.have.property('mail')
    expect(of('smtps://gate:p%40ss@mail.example')).to.deep.equal({
      host: 'mail.example',
      port: 465,
      tls: 'start',
      auth: { user: 'gate', pass: 'p@ss' },
      from,
      hourlyLimit: 1_000,
    })
    expect(of('smtp://mail.example')).to.include({ port: 587, tls: 'upgrade' })
    expect(of('smtp://localhost:2525')).to.include({ port: 2525, tls: 'none' })
    expect(of('smtp://[::1]')).to.include({ host: '::1', tls: 'none' })
    expect(of('smtp://localhost', { SMTP_CA: '-----BEGIN CERTIFICATE-----\n' })).to.include({ tls: 'upgrade' })
  })

  it('refuses a mail server or a sender alone, and what is none, without their values', () => {
    const faultOf = (SMTP_URL: string, MAIL_FROM: string) => {
      try {
        readConfig({ ...environment, SMTP_URL, MAIL_FROM })
        return ''
      } catch (error) {
        return error instanceof ConfigurationError ? error.message : String(error)
      }
    }
    const good = 'noreply@chat.example'

    for (const url of [
      '',
      'mail.example',
      'http://mail.example',
      'smtp://',
      'smtp://mail.example/a',
      'smtps://a:%@b.example',
    ])
      expect(faultOf(url, good), url).to.match(/^SMTP_URL: must be a URL such as [^\n]*$/)
    for (const from of [
      '',
      'nobody',
      'A\r\nBcc: b@b.example <a@a.example>',
      'A <a@a.example>, b@b.example',
      '"A" <a@a.example>',
    ])
      expect(faultOf('smtps://mail.example', from), from).to.match(/^MAIL_FROM: must be an address such as [^\n]*$/)
  })

  it('refuses to start with a JWT_SECRET of fewer than 32 characters, and names every fault at once', () => {
    const faulty = { ...environment, JWT_SECRET: 'j'.repeat(31), JWT_EXPIRES_IN: 'soon', HASHING_THREADS: '0' }

    expect(() => readConfig(faulty))
      .to.throw(ConfigurationError)
      .with.property('message')
      .that.matches(/^JWT_SECRET: .*\nJWT_EXPIRES_IN: .*\nHASHING_THREADS: .*$/)
  })
})
