import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { log, pinnedNode } from './project.js'

const excluded = /(^|\/)(node_modules|dist|test|test-kit)(\/|$)|\.test\.tsx?$|\.md$/

/** A hash of the paths and contents of all source files below these paths of a folder. */
export function hashSources(folder, paths) {
  const hash = createHash('sha256')
  for (const file of paths.flatMap((path) => listSources(folder, join(folder, path)))) {
    const name = `${relative(folder, file)}\0`
    hash.update(name).update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

function listSources(folder, path) {
  if (excluded.test(relative(folder, path))) return []
  if (statSync(path).isFile()) return [path]
  const names = readdirSync(path).sort()
  return names.flatMap((name) => listSources(folder, join(path, name)))
}

/** Runs a build tool into a folder beside `output`, renamed when it is whole. One that fails ends this process. */
export async function runBuild({ subject, output, cwd, stdout, args }) {
  log(`building ${subject}: the sources have changed since the last build`)
  const temporary = `${output}-${process.pid}`
  const flags = ['--disable-warning=ExperimentalWarning', ...args(temporary)]
  const child = spawn(pinnedNode, flags, { cwd, stdio: ['ignore', stdout, 'inherit'] })
  const [exitCode] = await once(child, 'exit')
  if (exitCode === 0) return temporary
  rmSync(temporary, { recursive: true, force: true })
  log(`building ${subject} failed (exit code ${exitCode ?? 1}): see its message above`)
  process.exit(1)
}
