import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { log, pinnedNode } from './project.js'

/**
 * Runs a build tool that writes into a folder beside `output`, which it gives: renamed when it is whole, so that a build that
 * fails or is interrupted leaves nothing in its place. One that fails ends this process.
 * @param {{ subject: string, output: string, cwd: string, stdout: 'inherit' | 'ignore', args: (folder: string) => string[] }} build
 * @returns {Promise<string>}
 */
export async function runBuild({ subject, output, cwd, stdout, args }) {
  log(`building ${subject}: the sources have changed since the last build`)
  const temporary = `${output}-${process.pid}`
  const flags = ['--disable-warning=ExperimentalWarning', ...args(temporary)]
  const child = spawn(pinnedNode, flags, { cwd, stdio: ['ignore', stdout, 'inherit'] })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
  if (code === 0) return temporary
  rmSync(temporary, { recursive: true, force: true })
  log(`building ${subject} failed (exit code ${code}): see its message above`)
  process.exit(1)
}
