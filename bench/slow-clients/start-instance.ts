import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, unwatchProcess, watchProcess } from '@gatehouse/local-servers'
import sharp from 'sharp'

export type BenchAccount = { username: string; password: string; token: string }

export type BenchInstance = AsyncDisposable & {
  url: string
  port: number
  other: BenchAccount
  /** So many that each stays below the number of sockets of one account. */
  slow: readonly BenchAccount[]
  /** An upload that anybody may read. */
  file: string
}

const projectRoot = resolve(import.meta.dirname, '../..')
const slowAccounts = 7
const startLimitMs = 60_000

/** An embedded instance as a process of its own, behind a proxy that it trusts, with accounts and a picture. */
export async function startBenchInstance(): Promise<BenchInstance> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-slow-'))
  // PostgreSQL, which does not run as root, has to enter it.
  await chmod(folder, 0o711)
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = startProcess({ GATEHOUSE_DATA: folder, PORT: String(port) })
  opening.defer(() => stop(child))
  await firstAnswer(`${url}/api/health`, child)
  const other = await register(url, 'other')
  const slow: BenchAccount[] = []
  for (let count = 0; count < slowAccounts; count += 1) slow.push(await register(url, `slow_${count}`))
  const file = await uploadPicture(url, other)
  const open = opening.move()
  return { url, port, other, slow, file, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

function startProcess(environment: Record<string, string>): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'deploy/embedded/main.ts'], {
    cwd: projectRoot,
    env: { PATH, HOME, TRUST_PROXY: 'loopback', LOG_LEVEL: 'error', ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  watchProcess(child.pid!, 'SIGTERM')
  child.once('exit', () => unwatchProcess(child.pid!))
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  await exited
}

async function firstAnswer(url: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + startLimitMs
  while (child.exitCode === null && performance.now() < until) {
    const isUp = await fetch(url).then(
      async (response) => (await response.text(), response.ok),
      () => false,
    )
    if (isUp) return
    await pause(50)
  }
  throw new Error('the instance ended, or did not start, before it answered')
}

let registered = 0

async function register(url: string, username: string): Promise<BenchAccount> {
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

/** Noise, which compresses badly: some hundred kilobytes. */
async function uploadPicture(url: string, { token }: BenchAccount): Promise<string> {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
  const create = { width: 512, height: 512, channels: 3, background: '#808080', noise } as const
  const picture = await sharp({ create }).png().toBuffer()
  const body = new FormData()
  body.set('file', new File([new Uint8Array(picture)], 'noise.png'))
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/uploads`, { method: 'POST', headers, body })
  if (response.status !== 201) throw new Error(`the upload answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { filename: string }).filename
}
