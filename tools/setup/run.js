import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dataFolder, pinnedNode, root } from './project.js'

// A Ctrl-C reaches this process twice: from the terminal and from npm. The second within this time is the same one.
const SAME_SIGNAL_MS = 1_000

/**
 * Runs a program of the project on the pinned runtime, in this terminal, until it ends by itself: signals are passed on
 * once, so that it can stop in an orderly way. Gives its exit code (128 + number when a signal ended it).
 * @param {string} entry its file, from the project's root
 * @param {string[]} args
 * @param {Record<string, string | undefined>} env
 * @returns {Promise<number>}
 */
export function runProgram(entry, args = [], env = process.env) {
  const preload = pathToFileURL(join(root, 'tools/setup/stop-with-parent.js')).href
  const flags = ['--disable-warning=ExperimentalWarning', `--import=${preload}`]
  const path = `${join(root, 'node_modules/.bin')}:${env.PATH ?? ''}`
  const child = spawn(pinnedNode, [...flags, resolve(root, entry), ...args], {
    cwd: root,
    // What was compiled once starts in two thirds of the time.
    env: {
      NODE_COMPILE_CACHE: join(dataFolder(env), 'compiled'),
      ...env,
      PATH: path,
      GATEHOUSE_PARENT: String(process.pid),
    },
    stdio: 'inherit',
    detached: true, // a process group of its own: the terminal's signals come through here only
  })
  passSignalsOn(child)
  return new Promise((end, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => end(code ?? 128 + constants.signals[signal ?? 'SIGKILL']))
  })
}

/** @param {import('node:child_process').ChildProcess} child */
function passSignalsOn(child) {
  let passedAt = -Infinity
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      if (performance.now() - passedAt < SAME_SIGNAL_MS) return
      passedAt = performance.now()
      child.kill(signal)
    })
  }
}
