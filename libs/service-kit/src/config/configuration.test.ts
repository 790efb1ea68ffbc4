import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ConfigurationError, readVariables, variables } from './configuration.ts'

describe('Configuration', () => {
  const secret = 'x'.repeat(32)
  const shape = {
    JWT_SECRET: variables.secret('signs the tokens'),
    DATABASE_URL: variables.url('postgres://host/name'),
    PORT: variables.port(8080),
    HASHING_QUEUE: variables.count(100),
    REGISTRATION_OPEN: variables.flag(true),
    JWT_EXPIRES_IN: variables.duration('30d'),
    LOG_LEVEL: variables.logLevel(),
    HOST: variables.text('0.0.0.0'),
  }
  const required = { JWT_SECRET: secret, DATABASE_URL: 'postgres://localhost/gatehouse' }
  const faultsOf = (environment: Record<string, string>) => {
    try {
      return readVariables(environment, shape)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      return error.message.split('\n')
    }
  }
  let folder: string

  before(() => void (folder = mkdtempSync(join(tmpdir(), 'gatehouse-configuration-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('takes the presets where nothing is given, an empty variable included', () => {
    expect(readVariables({ ...required, PORT: '', HOST: '' }, shape)).to.deep.equal({
      ...required,
      PORT: 8080,
      HASHING_QUEUE: 100,
      REGISTRATION_OPEN: true,
      JWT_EXPIRES_IN: '30d',
      LOG_LEVEL: 'info',
      HOST: '0.0.0.0',
    })
  })

  it('reads what is given', () => {
    const environment = { ...required, PORT: '0', REGISTRATION_OPEN: 'false', JWT_EXPIRES_IN: '12h', LOG_LEVEL: 'warn' }

    expect(readVariables(environment, shape)).to.include({
      PORT: 0,
      REGISTRATION_OPEN: false,
      JWT_EXPIRES_IN: '12h',
      LOG_LEVEL: 'warn',
    })
  })

  /** Contract: 8, Settings. */
  it('reports every fault at once, each with its variable, none with its value', () => {
    const faults = faultsOf({
      JWT_SECRET: 'too-short',
      DATABASE_URL: 'nowhere',
      PORT: '65536',
      HASHING_QUEUE: '0',
      REGISTRATION_OPEN: 'perhaps',
      JWT_EXPIRES_IN: 'forever',
      LOG_LEVEL: 'loud',
    })

    expect(faults).to.have.length(7)
    for (const [at, name] of Object.keys(shape).slice(0, 7).entries()) {
      expect((faults as string[])[at]).to.match(new RegExp(`^${name}: must `))
    }
    expect(String(faults)).to.not.match(/too-short|nowhere|65536|perhaps|forever|loud/)
  })

  it('says what a missing variable should be set to', () => {
    expect(faultsOf({ JWT_SECRET: secret })).to.deep.equal([
      'DATABASE_URL: is required: set it to a URL such as postgres://host/name',
    ])
  })

  it('Configuration: refuses a JWT_SECRET of 31 characters and takes one of 32', () => {
    expect(faultsOf({ ...required, JWT_SECRET: 'x'.repeat(31) }))
      .to.be.an('array')
      .with.length(1)
    expect(faultsOf(required)).to.include({ JWT_SECRET: secret })
  })

  it('reads a secret from the file that X_FILE names, without its last line break', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, `${secret}\n`)

    expect(faultsOf({ DATABASE_URL: required.DATABASE_URL, JWT_SECRET_FILE: file })).to.include({ JWT_SECRET: secret })
    expect(faultsOf({ ...required, JWT_SECRET: `${secret}!`, JWT_SECRET_FILE: file })).to.include({
      JWT_SECRET: `${secret}!`,
    })
  })

  it('reads previous secrets one a line, from a file too, and refuses one of 31 characters', () => {
    const file = join(folder, 'previous')
    const previous = { JWT_SECRET_PREVIOUS: variables.previousSecrets() }
    const other = 'y'.repeat(33)
    writeFileSync(file, `${secret}\r\n${other}\n\n`)
    const short = { JWT_SECRET_PREVIOUS: `${secret}\n${'z'.repeat(31)}` }

    expect(readVariables({}, previous)).to.deep.equal({ JWT_SECRET_PREVIOUS: [] })
    expect(readVariables({ JWT_SECRET_PREVIOUS: secret }, previous)).to.deep.equal({ JWT_SECRET_PREVIOUS: [secret] })
    expect(readVariables({ JWT_SECRET_PREVIOUS_FILE: file }, previous)).to.deep.equal({
      JWT_SECRET_PREVIOUS: [secret, other],
    })
    expect(() => readVariables(short, previous)).to.throw(
      ConfigurationError,
      /^JWT_SECRET_PREVIOUS: must be secrets of at least 32 characters each, one a line$/,
    )
  })

  it('reads origins of passkeys, and refuses what no browser and no Android app says', () => {
    const setting = { PASSKEY_ORIGINS: variables.passkeyOrigins() }
    const listOf = (text: string) => readVariables({ PASSKEY_ORIGINS: text }, setting).PASSKEY_ORIGINS
    const app = `android:apk-key-hash:${'a'.repeat(43)}`

    expect(listOf('')).to.deep.equal([])
    expect(listOf(`https://www.chat.example, ${app}`)).to.deep.equal(['https://www.chat.example', app])
    for (const text of ['www.chat.example', 'https://chat.example/', 'https://Chat.example', `${app}=`, ','])
      expect(() => listOf(text), text).to.throw(ConfigurationError, /^PASSKEY_ORIGINS: must be origins such as https/)
  })

  it('takes PEM with the line ends of Windows and with comments before it, and nothing that has none', () => {
    const ca = { NATS_CA: variables.pem() }
    const lines = ['-----BEGIN CERTIFICATE-----', 'MIIB', '-----END CERTIFICATE-----']
    for (const text of [lines.join('\n'), lines.join('\r\n'), ['# of the office', ...lines].join('\r\n')])
      expect(readVariables({ NATS_CA: text }, ca)).to.deep.equal({ NATS_CA: text })

    for (const text of ['/run/secrets/ca.crt', lines.join(''), `MIIB ${lines.join('\n')}`])
      expect(() => readVariables({ NATS_CA: text }, ca), text).to.throw(ConfigurationError, /^NATS_CA: must be PEM/)
  })

  it('names X_FILE when its file cannot be read, or holds too little', () => {
    const short = join(folder, 'short')
    writeFileSync(short, 'short\n')
    const base = { DATABASE_URL: required.DATABASE_URL }

    expect(faultsOf({ ...base, JWT_SECRET_FILE: join(folder, 'absent') })).to.deep.equal([
      'JWT_SECRET_FILE: cannot read the file it names; check its path and permissions',
    ])
    expect(String(faultsOf({ ...base, JWT_SECRET_FILE: short }))).to.match(/^JWT_SECRET: must have at least 32/)
  })
})
