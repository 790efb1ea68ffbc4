import { expect } from 'chai'
import { createLog } from './log.ts'

describe('The log', () => {
  function capture() {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    return { log: createLog({ level: 'info', service: 'test', destination }), lines }
  }

  it('names the service and writes the level as a word', () => {
    const { log, lines } = capture()
    log.info({ url: 'http://127.0.0.1' }, 'listening')
    log.debug('below the level')

    expect(lines).to.have.length(1)
    expect(JSON.parse(lines[0]!)).to.include({ level: 'info', service: 'test', msg: 'listening' })
  })

  it('writes no secret that stands under its name, at any of three depths', () => {
    const { log, lines } = capture()
    const secrets = {
      password: 'hunter-2',
      currentPassword: 'hunter-2',
      newPassword: 'hunter-2',
      temporaryPassword: 'hunter-2',
      passwordHash: 'hunter-2',
      token: 'hunter-2',
      inviteToken: 'hunter-2',
      secret: 'hunter-2',
      hmacSecret: 'hunter-2',
      authorization: 'hunter-2',
    }
    log.info({ ...secrets, body: { ...secrets, inner: secrets } }, 'request')

    expect(lines.join()).to.include('[redacted]').and.not.include('hunter-2')
  })

  for (const key of ['err', 'error'] as const) {
    it(`logs no row that the database quotes, not even from a cause, under the key ${key}`, () => {
      const { log, lines } = capture()
      const row = 'Failing row contains (1, ada, $2b$12$hash).\n    at forged'
      const driver = Object.assign(new Error(`violates check - detail: ${row}`), { code: '23514', detail: row })
      const wrapped = new Error('cannot insert', { cause: driver })
      log.error({ [key]: driver }, 'one')
      log.error({ [key]: wrapped }, 'two')
      log.error({ [key]: new AggregateError([driver], 'several') }, 'three')
      const [one, two] = lines.map((line) => (JSON.parse(line) as Record<typeof key, Record<string, string>>)[key])

      expect(lines.join()).to.not.include('$2b$12$hash')
      expect(one).to.include({ type: 'Error', code: '23514' })
      expect(one?.stack).to.include('log.test.ts')
      expect(two?.message).to.include('cannot insert')
    })
  }
})
