import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { findOnPath, findProgram, missingProgram, programs } from '../../libs/local-servers/src/find-program.js'
import { log } from './project.js'

const policyFile = '/usr/sbin/policy-rc.d'

/** @param {(keyof typeof programs)[]} names Those that are missing are installed on Debian as root. Else it logs how, and exits with 1. */
export async function ensurePrograms(names) {
  const missing = listMissing(names)
  if (missing.length === 0) return
  const isVariableWrong = missing.some((name) => process.env[programs[name]])
  const canInstall = process.getuid?.() === 0 && findOnPath(['apt-get']) !== null
  if (!isVariableWrong && canInstall) await installPackages(missing)
  const stillMissing = listMissing(names)
  if (stillMissing.length === 0) return
  for (const name of stillMissing) log(missingProgram(name))
  process.exit(1)
}

/** @param {(keyof typeof programs)[]} names */
export const listMissing = (names, env = process.env) => names.filter((name) => findProgram(name, env) === null)

async function installPackages(packages) {
  log(`installing ${packages.join(', ')} with apt-get`)
  const undo = preventServiceStarts()
  try {
    const updated = await aptGet('update', '-q')
    if (updated === 0) await aptGet('install', '-q', '-y', '--no-install-recommends', ...packages)
  } finally {
    undo()
  }
}

/** Keeps apt-get from starting the installed servers on their default ports. Gives what undoes it. An existing policy stays. */
function preventServiceStarts() {
  if (existsSync(policyFile)) return () => undefined
  writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const remove = () => rmSync(policyFile, { force: true })
  process.once('exit', remove)
  return remove
}

/** Gives its exit code. */
async function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const child = spawn('apt-get', args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  // On Ctrl-C apt-get ends by itself; this process waits for it, to clean up.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  const [code] = await once(child, 'exit')
  process.off('SIGINT', ignore)
  return code ?? 130
}
