import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { freePort, killTree, watchProcess } from '@gatehouse/local-servers'
import { eventually, testCallerKeys } from '@gatehouse/test-kit'
import { programArguments } from '../../tools/setup/build-programs.js'

const projectRoot = resolve(import.meta.dirname, '../..')

export type ProgramExit = { code: number | null; stdout: string; stderr: string }

/** Runs a program of the project; its environment holds PATH, HOME, Node's compile cache and the given variables only. */
export function startProgram(file: string, environment: Record<string, string>, args: string[] = []) {
  if (environment.GATEHOUSE_DATA) openToOthers(environment.GATEHOUSE_DATA)
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const flags = ['--disable-warning=ExperimentalWarning', ...programArguments(file), ...args]
  const child: ChildProcess = spawn(process.execPath, flags, {
    cwd: projectRoot,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  watchProcess(child.pid!, 'SIGKILL')
  const output = { stdout: '', stderr: '' }
  child.stdout!.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr!.on('data', (chunk) => (output.stderr += String(chunk)))
  const exited: Promise<ProgramExit> = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    ...output,
  }))
  return {
    pid: child.pid!,
    child,
    output,
    exited,
    /** Waits until standard output matches, and gives the match. */
    waitForOutput: (pattern: RegExp): Promise<string> => {
      const matched = eventually(`${file} prints ${pattern}`, () => pattern.exec(output.stdout)?.[0], 90_000)
      const failed = exited.then(({ code, stderr }) => {
        throw new Error(`${file} exited with ${code}: ${stderr}`)
      })
      return Promise.race([matched, failed])
    },
    signal: (name: NodeJS.Signals) => child.kill(name),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await killTree(child.pid!)
    },
  }
}

export const uploadsIn = (folder: string) => ({ uploadDir: folder, uploadStore: { folder } })

/** What every distributed process needs beside its servers, for one that nothing calls; it listens on free ports. */
export function processEnvironment(secret: string): Record<string, string> {
  const elsewhere = 'http://127.0.0.1:1'
  return {
    ...{ HOST: '127.0.0.1', OPS_HOST: '127.0.0.1', OPS_PORT: '0', PORT: '0' },
    ...{ IDENTITY_PORT: '0', INVITE_PORT: '0', SESSION_GATEWAY_PORT: '0', FEDERATION_FANOUT_PORT: '0' },
    ...{ IDENTITY_URL: elsewhere, INVITE_URL: elsewhere },
    ...{ SESSION_GATEWAY_URL: elsewhere, FEDERATION_FANOUT_URL: elsewhere },
    ...{ PUBLIC_ORIGIN: 'http://localhost:8080', UPLOAD_DIR: '/tmp' },
    ...{
      JWT_SECRET: secret,
      INTERNAL_SECRET: secret,
      CALLER_KEYS: testCallerKeys.lines.join('\n'),
      ENCRYPTION_SECRET: secret,
    },
  }
}

/** The messages of a failed start: each is a line of the log, as all lines of a process are. */
export function readStartErrors(stderr: string): string[] {
  const lines = stderr.trim().split('\n').filter(Boolean)
  return lines.map((line) => {
    const { level, msg } = JSON.parse(line) as { level: string; msg: string }
    return level === 'fatal' ? msg : line
  })
}

/** Folders for temporary files are closed, and PostgreSQL, which does not run as root, enters none of those. */
function openToOthers(path: string): void {
  if (path === tmpdir() || !path.startsWith(tmpdir())) return
  if (existsSync(path) && statSync(path).isDirectory()) chmodSync(path, 0o711)
  openToOthers(dirname(path))
}

export const embeddedMain = 'deploy/embedded/main.ts'

/** What `npm start` runs, on a free port. */
export async function startInstance(dataFolder: string, environment: Record<string, string> = {}) {
  const port = await freePort()
  const program = startProgram(embeddedMain, { GATEHOUSE_DATA: dataFolder, PORT: String(port), ...environment })
  await program.waitForOutput(/Ctrl-C stops it/)
  return { ...program, url: `http://127.0.0.1:${port}` }
}

export async function postJson(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
