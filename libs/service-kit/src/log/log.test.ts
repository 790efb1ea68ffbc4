import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { logBatchMs } from '../policy.ts'
import { createLog } from './log.ts'

const logModule = join(import.meta.dirname, 'log.ts')

/** The lines that a process writes to a pipe with `statements`, where `log` is its log. */
async function linesOf(statements: string): Promise<string[]> {
  const child = startLogging(statements)
  child.stderr.resume()
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
  return output
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
}

function startLogging(statements: string) {
  const script = `import { createLog } from '${logModule}'
    const log = createLog({ level: 'info', service: 'test' })
    ${statements}`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  // A pipe that is not read to its end breaks with its writer.
  child.stdout.on('error', () => undefined)
  return child
}

describe('The log on standard output', () => {
  it('loses no line when the process exits or throws, although lines are written in batches', async () => {
    const three = `log.info('one'); log.info('two'); log.info('three');`

    expect(await linesOf(`${three} process.exit(3)`)).to.deep.equal(['one', 'two', 'three'])
    expect(await linesOf(`${three} throw new Error('unexpected')`)).to.deep.equal(['one', 'two', 'three'])
  })

  it('has a warning at once, and before it the lines that waited', async () => {
    const killed = `log.info('one'); log.warn('two'); log.info('three'); process.kill(process.pid, 'SIGKILL')`

    expect(await linesOf(killed)).to.deep.equal(['one', 'two'])
  })

  it('has every line soon, whatever follows', async () => {
    const waiting = `log.info('one'); setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${logBatchMs * 2})`

    expect(await linesOf(waiting)).to.deep.equal(['one'])
  })
})

describe('The log, when its reader is late', () => {
  it('keeps the order, drops what exceeds its bound, and says how many lines that were', async () => {
    const count = 20_000
    const child =
      startLogging(`for (let line = 0; line < ${count}; line += 1) log.info({ pad: '${'x'.repeat(100)}' }, String(line))
      console.error('written')
      setInterval(() => undefined, 1_000)`)
    await once(child.stderr, 'data')
    const read: { msg: string; dropped?: number }[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      read.push(JSON.parse(line) as (typeof read)[number])
      if (read.at(-1)!.dropped !== undefined) break
    }
    child.kill('SIGKILL')

    const dropped = read.at(-1)!.dropped!
    expect(dropped).to.be.greaterThan(1_000)
    expect(read.slice(0, -1).map(({ msg }) => msg)).to.deep.equal(
      Array.from({ length: count - dropped }, (_, line) => String(line)),
    )
  })

  it('gives up what waits when the process exits and nobody reads', async () => {
    const child = startLogging(
      `for (let line = 0; line < 2_000; line += 1) log.warn('${'x'.repeat(200)}'); process.exit(7)`,
    )
    child.stdout.pause()

    expect((await once(child, 'exit'))[0]).to.equal(7)
  })
})

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

  it('writes no command that Redis refused: it may be the login', () => {
    const { log, lines } = capture()
    const command = { name: 'hello', args: ['3', 'AUTH', 'default', 'hunter-2'] }
    log.warn({ err: Object.assign(new Error('WRONGPASS'), { command }) }, 'redis')

    expect(lines.join()).to.include('WRONGPASS').and.not.include('hunter-2')
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
