import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { dataFolder, root } from './project.js'
import { hashSources, runBuild } from './run-build.js'

const folders = readdirSync(join(root, 'services')).map((name) => `services/${name}`)
const services = folders.filter((folder) => existsSync(join(root, folder, 'src/main.ts')))

/** What runs from a build, from the project's root. docs/decisions/start-up.md. */
export const builtPrograms = [
  ...['deploy/cli/main.ts', 'deploy/embedded/main.ts', 'deploy/healthcheck.ts', 'deploy/migrate.ts'],
  ...['gateway', ...services].map((folder) => `${folder}/src/main.ts`),
]

/** Tests run these in the place of those of production. No image has them. */
export const testPrograms = ['embedded', 'identity'].map((name) => `deploy/test-programs/${name}.ts`)

/** Packages that are not in a build: an addon finds its binary beside itself. */
export const addons = ['bcrypt', 'sharp']
const rolldown = join(root, 'node_modules/rolldown/bin/cli.mjs')
const configs = ['tools/setup/rolldown.config.js', 'tools/setup/rolldown.local.config.js']
const sources = ['deploy', 'gateway', 'libs', ...services, ...configs, 'package-lock.json']

/** From here on `programArguments` gives the built programs, in child processes too. */
export async function ensureProgramsBuilt() {
  if (!existsSync(rolldown)) return
  const folder = join(dataFolder(), 'programs')
  // Its source maps and its packages are those of this folder.
  const hash = createHash('sha256').update(root).update(hashSources(root, sources)).digest('hex')
  const output = join(folder, hash.slice(0, 16))
  if (!existsSync(output)) {
    mkdirSync(folder, { recursive: true })
    await build(output)
    removeOlder(folder)
  }
  process.env.GATEHOUSE_PROGRAMS = output
}

/**
 * What Node is given to run a program: the built one, if it has been built for this run, else as it is written.
 * @param {string} file from the project's root. Stack traces name the sources either way.
 */
export function programArguments(file, env = process.env) {
  if (!env.GATEHOUSE_PROGRAMS || ![...builtPrograms, ...testPrograms].includes(file)) return [resolve(root, file)]
  return ['--enable-source-maps', join(env.GATEHOUSE_PROGRAMS, file.replace(/\.ts$/, '.mjs'))]
}

async function build(output) {
  const args = (folder) => [rolldown, '--config', join(root, 'tools/setup/rolldown.local.config.js'), '--dir', folder]
  const built = await runBuild({ subject: 'the programs', output, cwd: root, stdout: 'ignore', args })
  // The data folder may be anywhere.
  symlinkSync(join(root, 'node_modules'), join(built, 'node_modules'), 'junction')
  if (existsSync(output)) rmSync(built, { recursive: true })
  else renameSync(built, output)
}

/** Leaves the build before the last: a program that runs may still load a part of it. */
function removeOlder(folder) {
  const age = (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const names = readdirSync(folder).toSorted((one, other) => age(other) - age(one))
  for (const name of names.slice(2)) rmSync(join(folder, name), { recursive: true, force: true })
}
