import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { killTree, watchProcess } from '@gatehouse/local-servers'
import { eventually } from '@gatehouse/test-kit'

const projectRoot = resolve(import.meta.dirname, '../..')

export type Ended = { code: number | null; stdout: string; stderr: string }

/** A program of the project, run as an operator would, with nothing in its environment but what the test says. */
export function startProgram(file: string, environment: Record<string, string>, args: string[] = []) {
  const { PATH = '', HOME = '' } = process.env
  const flags = ['--disable-warning=ExperimentalWarning', resolve(projectRoot, file), ...args]
  const child: ChildProcess = spawn(process.execPath, flags, {
    cwd: projectRoot,
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  watchProcess(child.pid!, 'SIGKILL')
  const output = { stdout: '', stderr: '' }
  child.stdout!.on('data', (chunk) => (output.stdout += String(chunk)))
  child.stderr!.on('data', (chunk) => (output.stderr += String(chunk)))
  const ended: Promise<Ended> = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }))
  return {
    pid: child.pid!,
    output,
    ended,
    /** Resolves with the text that `pattern` finds on standard output. */
    says: (pattern: RegExp): Promise<string> => {
      const said = eventually(`${file} says ${pattern}`, () => pattern.exec(output.stdout)?.[0], 90_000)
      const failed = ended.then(({ code, stderr }) => {
        throw new Error(`${file} ended with ${code} instead: ${stderr}`)
      })
      return Promise.race([said, failed])
    },
    signal: (name: NodeJS.Signals) => child.kill(name),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await killTree(child.pid!)
    },
  }
}

export async function postJson(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
