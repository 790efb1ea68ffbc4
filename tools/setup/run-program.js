import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { programArguments } from './build-programs.js'
import { dataFolder, pinnedNode, root } from './project.js'

// A Ctrl-C arrives from the terminal and from npm.
const duplicateSignalMs = 1_000
const pollIntervalMs = 500

/**
 * Runs a program, by its path from the project's root, on the pinned Node until it exits. Signals are forwarded once, so
 * that it can shut down; the end of npm, which a SIGTERM to npm alone causes, is one too. Gives its exit code; 128 + number when
 * a signal ended it.
 */
export async function runProgram(file, args = [], env = process.env) {
  const preload = pathToFileURL(join(root, 'tools/setup/stop-with-parent.js')).href
  const flags = ['--disable-warning=ExperimentalWarning', `--import=${preload}`]
  const child = spawn(pinnedNode, [...flags, ...programArguments(file, env), ...args], {
    cwd: root,
    env: {
      NODE_COMPILE_CACHE: join(dataFolder(env), 'compiled'), // starts in two thirds of the time
      ...env,
      PATH: `${join(root, 'node_modules/.bin')}:${env.PATH ?? ''}`,
      GATEHOUSE_PARENT: String(process.pid),
    },
    stdio: 'inherit',
    detached: true, // in a process group of its own: the terminal's signals reach it through this process only
  })
  forwardSignals(child)
  if (env.npm_lifecycle_event) followParent(child)
  const [code, signal] = await once(child, 'exit')
  return code ?? 128 + constants.signals[signal ?? 'SIGKILL']
}

function forwardSignals(child) {
  let forwardedAt = -Infinity
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (performance.now() - forwardedAt < duplicateSignalMs) return
      forwardedAt = performance.now()
      child.kill(signal)
    })
  }
}

/** npm passes a SIGTERM on to its shell alone, which ends without telling anybody. */
function followParent(child) {
  const parent = process.ppid
  const poll = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(poll)
    child.kill('SIGTERM')
  }, pollIntervalMs)
  poll.unref()
}
