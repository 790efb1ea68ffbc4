import { spawn } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { findOnPath, findProgram, missingProgram, programs } from '../../libs/local-servers/src/find-program.js'
import { say } from './project.js'

const POLICY = '/usr/sbin/policy-rc.d'

/**
 * Makes sure that these programs are there: as named by the environment, or on the search path, or, on Debian as root,
 * by installing them now. Where none of this works, says what to install and ends with exit code 1.
 * @param {(keyof typeof programs)[]} names
 */
export async function ensurePrograms(names) {
  const missing = listMissing(names)
  if (missing.length === 0) return
  const isMisnamed = missing.some((name) => process.env[programs[name].variable])
  const canInstall = process.getuid?.() === 0 && findOnPath(['apt-get']) !== null
  if (!isMisnamed && canInstall) await installPackages(missing.map((name) => programs[name].package))
  const stillMissing = listMissing(names)
  if (stillMissing.length === 0) return
  for (const name of stillMissing) say(missingProgram(name))
  process.exit(1)
}

/**
 * @param {(keyof typeof programs)[]} names
 * @param {Record<string, string | undefined>} env
 */
export function listMissing(names, env = process.env) {
  return names.filter((name) => findProgram(name, env) === null)
}

/** @param {string[]} packages */
async function installPackages(packages) {
  say(`installing ${packages.join(', ')} with apt-get: missing on this machine`)
  const allowServices = forbidServices()
  try {
    const updated = await aptGet(['update', '-q'])
    if (updated === 0) await aptGet(['install', '-q', '-y', '--no-install-recommends', ...packages])
  } finally {
    allowServices()
  }
}

/**
 * Keeps packages from starting a service on its default port while they are installed; gives how to undo it. A policy
 * that is there already is left alone.
 */
function forbidServices() {
  if (existsSync(POLICY)) return () => undefined
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const remove = () => rmSync(POLICY, { force: true })
  process.once('exit', remove)
  return remove
}

/**
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const child = spawn('apt-get', args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  // On Ctrl-C apt-get stops by itself; this process stays until then, to clean up.
  const wait = () => undefined
  process.on('SIGINT', wait)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      process.off('SIGINT', wait)
      resolve(code ?? 130)
    })
  })
}
