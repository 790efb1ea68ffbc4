import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, killTree } from '@gatehouse/local-servers'
import { createDataFolder, eventually, removeFolder, testNats, testRedis } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { entrypoints } from '../cluster/roles.ts'
import { embeddedMain, fillDataFolder, processEnvironment, startProgram } from './program.ts'

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

type Prepared = { file: string; variables: Record<string, string>; port: number; opsPort: number }

const forms = {
  embedded: async (folder: string): Promise<Prepared> => {
    const data = join(folder, 'data')
    await fillDataFolder(data)
    return await onFreePorts(embeddedMain, { GATEHOUSE_DATA: data })
  },
  gateway: async (_folder: string, scope: AsyncDisposableStack): Promise<Prepared> => {
    const servers = {
      NATS_URL: scope.use(await testNats()).url,
      REDIS_URL: scope.use(await testRedis()).url,
    }
    return await onFreePorts(entrypoints.gateway.file, { ...processEnvironment(secret), ...servers })
  },
}

async function onFreePorts(file: string, settings: Record<string, string>): Promise<Prepared> {
  const [port, opsPort] = [await freePort(), await freePort()]
  return { file, variables: { ...settings, PORT: String(port), OPS_PORT: String(opsPort) }, port, opsPort }
}

export type LogReader = { form: keyof typeof forms; what: keyof typeof readers; when: 'at the start' | 'under load' }

export const everyLogReader: readonly LogReader[] = (['embedded', 'gateway'] as const).flatMap((form) =>
  (['goes away', 'stops reading'] as const).flatMap((what) =>
    (['at the start', 'under load'] as const).map((when) => ({ form, what, when })),
  ),
)

/** A test of each, and their control. */
export function testLogReaders(chosen: readonly LogReader[]): void {
  for (const reader of chosen) {
    it(`has a reader that ${reader.what} ${reader.when} answers and stops (${reader.form})`, async () => {
      await using opening = new AsyncDisposableStack()
      await expectAnswers(reader, opening.adopt(await createDataFolder(), removeFolder))
    })
  }

  it('is written as long as it takes would answer nothing: the control of the tests above', expectControl)
}

async function expectAnswers({ form, what, when }: LogReader, folder: string): Promise<void> {
  const [leave, upstreams] = [readers[what], join(folder, 'upstreams.yaml')]
  await writeFile(upstreams, 'upstreams: []')
  await using scope = new AsyncDisposableStack()
  const { file, variables, port, opsPort } = await forms[form](folder, scope)
  const { child } = scope.use(startProgram(file, { ...variables, GATEHOUSE_UPSTREAMS: upstreams }))
  const target: Target = {
    child,
    url: `http://127.0.0.1:${port}`,
    readMetrics: async () => await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text(),
  }
  if (when === 'at the start') leave(child)
  await eventually('it answers', () => isAnswered(`${target.url}/api/health`), 90_000)
  if (when === 'under load') leave(child)
  await logErrors(target, upstreams)

  expect(await answersOf(target)).to.deep.equal(Array(6).fill(true))
  const areDropped = async () => {
    await fillLog(target, upstreams)
    return /^gatehouse_log_lines_dropped [1-9]\d*$/m.test(await target.readMetrics())
  }
  await eventually('lines are dropped', areDropped, 90_000)
  expect(await answersOf(target)).to.deep.equal(Array(6).fill(true))
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).to.equal(0)
}

async function expectControl(): Promise<void> {
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
}
