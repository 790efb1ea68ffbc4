import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, unwatchProcess, watchProcess } from '@gatehouse/local-servers'
import { programArguments } from '../tools/setup/build-programs.js'

export type EmbeddedInstance = AsyncDisposable & { url: string; port: number; pid: number; startMs: number }

const projectRoot = resolve(import.meta.dirname, '..')
const startLimitMs = 60_000

/** A data folder that goes with its owner. */
export async function createDataFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  // PostgreSQL, which does not run as root, has to enter it.
  await chmod(path, 0o711)
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  return { path, [Symbol.asyncDispose]: remove }
}

/** An instance as `npm start` runs it, in a process of its own, from when it answers. Dispose is Ctrl-C. */
export async function startEmbeddedInstance(
  dataFolder: string,
  environment: Record<string, string> = {},
): Promise<EmbeddedInstance> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  const variables = { LOG_LEVEL: 'error', GATEHOUSE_DATA: dataFolder, PORT: String(port), ...environment }
  const child = spawnNode(programArguments('deploy/embedded/main.ts'), variables)
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGINT')
    await exited
  }
  await using opening = new AsyncDisposableStack()
  opening.defer(stop)
  await waitForAnswer(`${url}/api/health`, child)
  const open = opening.move()
  const startMs = performance.now() - startedAt
  return { url, port, pid: child.pid!, startMs, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Node with these arguments at the root of the project; it ends with this process. */
export function spawnNode(args: string[], environment: Record<string, string>): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: projectRoot,
    env: { PATH, HOME, NODE_COMPILE_CACHE: join(tmpdir(), 'gatehouse-bench-compiled'), ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  watchProcess(child.pid!, 'SIGTERM')
  child.once('exit', () => unwatchProcess(child.pid!))
  return child
}

/** Where the instance with this data folder, which must run, has its PostgreSQL. */
export async function databaseUrlOf(dataFolder: string): Promise<string> {
  const postmaster = await readFile(join(dataFolder, 'database', 'data', 'postmaster.pid'), 'utf8')
  const secrets = JSON.parse(await readFile(join(dataFolder, 'secrets.json'), 'utf8')) as { databasePassword: string }
  const port = postmaster.split('\n')[3]!.trim()
  return `postgres://gatehouse:${encodeURIComponent(secrets.databasePassword)}@127.0.0.1:${port}/gatehouse`
}

export type BenchAccount = { username: string; password: string; token: string }

let registered = 0

/** An account of its own client address, which counts where the instance trusts this machine as a proxy. */
export async function registerAccount(url: string, username: string): Promise<BenchAccount> {
  registered += 1
  const password = 'correct horse battery'
  const response = await fetch(`${url}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': `192.0.2.${registered}` },
    body: JSON.stringify({ username, password }),
  })
  if (response.status !== 201) throw new Error(`registration answered ${response.status}: ${await response.text()}`)
  const { token } = (await response.json()) as { token: string }
  return { username, password, token }
}

async function waitForAnswer(url: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + startLimitMs
  while (child.exitCode === null && performance.now() < until) {
    const isUp = await fetch(url).then(
      async (response) => (await response.text(), response.ok),
      () => false,
    )
    if (isUp) return
    await pause(5)
  }
  throw new Error('the instance ended, or did not start, before it answered')
}
