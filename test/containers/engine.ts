import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const outputLimitBytes = 64 * 1024 * 1024

/** A container engine: the commands that are used are the same ones in docker and podman. */
export type Engine = {
  name: 'docker' | 'podman'
  /** Gives what the command printed. Throws with what it said otherwise. */
  run(...args: string[]): Promise<string>
}

/** Runs a program and gives its output; throws when it ends with another code than 0, or not within `limitMs`. */
export async function runProgram(
  file: string,
  args: string[],
  environment: Record<string, string> = {},
  limitMs?: number,
): Promise<string> {
  const env = { ...process.env, ...environment }
  const { stdout } = await execute(file, args, { env, maxBuffer: outputLimitBytes, timeout: limitMs })
  return stdout.trim()
}

/** Whether it ended with code 0. */
export const succeeds = (running: Promise<string>): Promise<boolean> =>
  running.then(
    () => true,
    () => false,
  )

/** The first engine on the PATH that answers, and why the others are of no use. */
export async function findEngine(): Promise<{ engine: Engine | null; reasons: string[] }> {
  const reasons: string[] = []
  for (const name of ['docker', 'podman'] as const) {
    try {
      await runProgram(name, ['info'])
      if (name === 'podman') await runProgram('iptables', ['--version'])
      return { engine: { name, run: (...args) => runProgram(name, args) }, reasons }
    } catch (err) {
      const { code, path, stderr = '' } = err as { code?: unknown; path?: string; stderr?: string }
      reasons.push(
        code === 'ENOENT'
          ? `${path} is not on the PATH${path === name ? '' : `, which the checks with ${name} need`}`
          : `${name} does not answer: ${stderr.trim().split('\n').at(-1)}`,
      )
    }
  }
  return { engine: null, reasons }
}
