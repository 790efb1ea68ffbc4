import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { FolderInUse, isRunning, OtherVersion, startPersistentPostgres, type LocalServer } from '../src/index.ts'
import { query } from './query.ts'

const password = 'a password of the database'

describe('a persistent PostgreSQL server', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  const start = (): Promise<LocalServer> => startPersistentPostgres({ folder, password })

  /** Runs `source` in a process that owns a server on `folder`; it has `server` and `query`. */
  function startOwner(source: string) {
    const preamble = `
      import { startPersistentPostgres } from '@gatehouse/local-servers'
      import { query } from ${JSON.stringify(join(import.meta.dirname, 'query.ts'))}
      const server = await startPersistentPostgres(${JSON.stringify({ folder, password })})
      setInterval(() => undefined, 1000)\n`
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', preamble + source]
    const owner = spawn(process.execPath, flags, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] })
    return { owner, lines: createInterface({ input: owner.stdout })[Symbol.asyncIterator]() }
  }

  it('has its data at the next start, synced to the disk, readable with the password only', async () => {
    {
      await using first = await start()
      await query(first.url, 'create table kept as select 7 as number')
    }
    await using next = await start()

    expect(await query(next.url, 'select number from kept')).to.deep.equal([{ number: 7 }])
    expect(await query(next.url, 'show fsync')).to.deep.equal([{ fsync: 'on' }])
    const wrong = await query(next.url.replace(/:[^:@]*@/, ':guess@'), 'select 1').catch((error: unknown) => error)
    expect(wrong).to.have.property('code', '28P01')
    expect((await stat(join(folder, 'data'))).mode & 0o077).to.equal(0)
    expect(existsSync(join(folder, 'password'))).to.equal(false)
  })

  it('names both versions where the data are of another major one, and changes nothing', async () => {
    await (await start())[Symbol.asyncDispose]()
    const file = join(folder, 'data/PG_VERSION')
    const own = await readFile(file, 'utf8')
    await writeFile(file, '9\n')

    const refused = await start().catch((error: unknown) => error)

    expect(refused).to.be.instanceOf(OtherVersion)
    expect(String(refused)).to.match(/PostgreSQL 9, .*PostgreSQL \d\d/)
    await writeFile(file, own)
    await using again = await start()
    expect(await query(again.url, 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })

  it('is started again on its port when it is killed, and not when it is stopped', async () => {
    const ends: string[] = []
    const onEnded = (reason: string, lastLines: string) => void ends.push(reason, lastLines)
    await using server = await startPersistentPostgres({ folder, password, onEnded })
    const { pid } = server
    const answersAsAnother = (previous: number) =>
      eventually(
        `another process than ${previous} answers`,
        async () => {
          await query(server.url, 'select 1')
          return server.pid !== previous
        },
        30_000,
      )

    process.kill(pid, 'SIGKILL')

    await answersAsAnother(pid)
    const second = server.pid
    process.kill(second, 'SIGKILL')
    await answersAsAnother(second)
    await server.stop()
    expect(isRunning(server.pid)).to.equal(false)
    expect(ends).to.have.length(4)
    expect(ends).to.include.members(['SIGKILL'])
    expect(ends[1]).to.include('ready to accept connections')
  })

  it('is shut down and started by the next process when its owner was killed, and refused while the owner runs', async () => {
    const { owner, lines } = startOwner('console.log(server.pid)')
    const leftOver = Number((await lines.next()).value)
    const refused = await start().catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(FolderInUse).and.include({ ownerPid: owner.pid })

    owner.kill('SIGKILL')
    await once(owner, 'exit')
    await using server = await start()

    expect(isRunning(leftOver)).to.equal(false)
    expect(await query(server.url, 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })

  it('still answers after signals to its owner, until the owner disposes of it', async () => {
    const { owner, lines } = startOwner(`
      let signals = 0
      const answer = async () => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        console.log(JSON.stringify(await query(server.url, 'select 1 as one')))
        signals += 1
        if (signals < 3) return
        await server[Symbol.asyncDispose]()
        process.exit(7)
      }
      for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT']) process.on(signal, answer)
      console.log(server.pid)`)
    const pid = Number((await lines.next()).value)

    owner.kill('SIGHUP')
    expect(await lines.next()).to.include({ value: '[{"one":1}]' })
    owner.kill('SIGTERM')
    expect(await lines.next()).to.include({ value: '[{"one":1}]' })
    owner.kill('SIGINT')
    expect(await lines.next()).to.include({ value: '[{"one":1}]' })

    expect(await once(owner, 'exit')).to.deep.equal([7, null])
    expect(isRunning(pid)).to.equal(false)
  })

  it('replaces the data folder of a start that was interrupted', async () => {
    await mkdir(join(folder, 'data-unfinished'), { recursive: true })
    await writeFile(join(folder, 'data-unfinished', 'PG_VERSION'), '18')

    await using server = await start()

    expect(await query(server.url, 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })
})
