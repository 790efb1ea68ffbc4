import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, killTree } from '@gatehouse/local-servers'
import { eventually, migratedDatabase, testNats, testRedis } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { entrypoints } from '../cluster/roles.ts'
import { embeddedMain, processEnvironment, startProgram } from './program.ts'

type Target = { child: ChildProcess; url: string; readMetrics: () => Promise<string> }

const secret = 'a secret of more than thirty-two characters'

/** What is done to the pipe that a process writes its log to. */
const readers = {
  'goes away': (child: ChildProcess) => void child.stdout!.destroy(),
  'stops reading': (child: ChildProcess) => void child.stdout!.removeAllListeners('data').pause(),
}

const isAnswered = async (url: string): Promise<boolean> =>
  await fetch(url, { signal: AbortSignal.timeout(3_000) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** A file with these keys is an error, which names them. */
const longKeys = JSON.stringify(
  Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${'x'.repeat(900)}${at}`, 1])),
)

/** Soon more than the pipe and its reader hold. */
async function fillLog({ child, url }: Target, file: string): Promise<void> {
  await writeFile(file, longKeys)
  child.kill('SIGHUP')
  await Promise.all(Array.from({ length: 50 }, () => isAnswered(`${url}/api/instance/info`)))
}

/** A gateway has an error to log for each file of upstreams that it cannot read. */
async function logErrors({ child }: Target, file: string): Promise<void> {
  await writeFile(file, 'no list')
  for (let count = 0; count < 5; count += 1) child.kill('SIGHUP')
}

async function answersOf({ url }: Target): Promise<boolean[]> {
  const answers: boolean[] = []
  for (let count = 0; count < 6; count += 1) answers.push(await isAnswered(`${url}/api/health`))
  return answers
}

describe('a process whose log', function () {
  this.timeout(200_000)
  let folder: string
  let upstreams: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-log-'))
    upstreams = join(folder, 'upstreams.yaml')
    await writeFile(upstreams, 'upstreams: []')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const forms = {
    embedded: async () => {
      const data = join(folder, 'data')
      const [port, opsPort] = [await freePort(), await freePort()]
      const variables = { GATEHOUSE_DATA: data, PORT: String(port), OPS_PORT: String(opsPort) }
      return { file: embeddedMain, variables, port, opsPort, resources: new AsyncDisposableStack() }
    },
    gateway: async () => {
      const resources = new AsyncDisposableStack()
      const [port, opsPort] = [await freePort(), await freePort()]
      const variables = {
        ...processEnvironment(secret),
        DATABASE_URL: resources.use(await migratedDatabase()).url,
        NATS_URL: resources.use(await testNats()).url,
        REDIS_URL: resources.use(await testRedis()).url,
        ...{ PORT: String(port), OPS_PORT: String(opsPort) },
      }
      return { file: entrypoints.gateway.file, variables, port, opsPort, resources }
    },
  }

  for (const [form, prepare] of Object.entries(forms)) {
    for (const [what, leave] of Object.entries(readers)) {
      for (const when of ['at the start', 'under load'] as const) {
        it(`has a reader that ${what} ${when} answers and stops (${form})`, async () => {
          const { file, variables, port, opsPort, resources } = await prepare()
          await using _resources = resources
          await using program = startProgram(file, { ...variables, GATEHOUSE_UPSTREAMS: upstreams })
          const target: Target = {
            child: program.child,
            url: `http://127.0.0.1:${port}`,
            readMetrics: async () => await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text(),
          }
          if (when === 'at the start') leave(program.child)
          await eventually('it answers', () => isAnswered(`${target.url}/api/health`), 90_000)
          if (when === 'under load') leave(program.child)
          await logErrors(target, upstreams)

          expect(await answersOf(target)).to.deep.equal(Array(6).fill(true))
          await eventually(
            'lines are dropped',
            async () => {
              await fillLog(target, upstreams)
              return /^gatehouse_log_lines_dropped [1-9]\d*$/m.test(await target.readMetrics())
            },
            90_000,
          )
          expect(await answersOf(target)).to.deep.equal(Array(6).fill(true))
          target.child.kill('SIGTERM')
          expect((await once(target.child, 'exit'))[0]).to.equal(0)
        })
      }
    }
  }

  it('is written as long as it takes would answer nothing: the control of the tests above', async () => {
    const script = `
      const { createServer } = require('node:http')
      const { writeSync } = require('node:fs')
      process.stdout
      process.on('SIGHUP', () => { for (;;) try { writeSync(1, 'x'.repeat(65536)); } catch {} })
      createServer((_, response) => response.end('{}')).listen(process.env.PORT, '127.0.0.1', () => console.error('up'))`
    for (const leave of Object.values(readers)) {
      const port = await freePort()
      const child = spawn(process.execPath, ['--eval', script], { env: { ...process.env, PORT: String(port) } })
      try {
        await once(child.stderr, 'data')
        const url = `http://127.0.0.1:${port}`
        expect(await isAnswered(url)).to.equal(true)
        leave(child)
        child.kill('SIGHUP')
        await eventually('nothing is answered', async () => !(await isAnswered(url)))
      } finally {
        await killTree(child.pid!)
      }
    }
  })
})
