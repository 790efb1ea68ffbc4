// node tools/release/image-files.ts [linux/ARCHITECTURE]: writes the files of the image for a platform, else for this machine's,
// into .gatehouse/image. deploy/Dockerfile runs it. docs/decisions/start-up.md.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addons } from '../setup/build-programs.js'
import { root } from '../setup/project.js'
import { listComponents } from '../supply-chain/sbom.ts'
import { readTar } from './tar.ts'

/** Docker's names of architectures, and Node's. */
const architectures = { 'linux/amd64': 'x64', 'linux/arm64': 'arm64' } as const
type Platform = keyof typeof architectures
export const platforms = Object.keys(architectures) as Platform[]

/** Fixed, because the source maps have paths relative to it. */
const imageFolder = join(root, '.gatehouse/image')

type Locked = {
  version: string
  integrity?: string
  os?: string[]
  cpu?: string[]
  libc?: string[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
type Fetched = { path: string; name: string; version: string; integrity: string | undefined }

/** Writes one folder for each COPY of the Dockerfile's last stage. */
async function writeImageFiles(platform: Platform): Promise<void> {
  rmSync(imageFolder, { recursive: true, force: true })
  const app = join(imageFolder, 'app/app')
  const run = (...args: string[]): void =>
    void execFileSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  const modules = join(root, 'node_modules')
  run(join(modules, 'rolldown/bin/cli.mjs'), '--config', 'tools/setup/rolldown.config.js', '--dir', app)
  run(join(modules, 'vite/bin/vite.js'), 'build', 'services/web', '--outDir', join(app, 'web'), '--logLevel', 'warn')
  writeFileSync(join(app, 'sbom.cdx.json'), listComponents())
  const command = join(imageFolder, 'app/usr/local/bin/gatehouse')
  mkdirSync(dirname(command), { recursive: true })
  cpSync(join(root, 'deploy/cli/gatehouse.sh'), command)
  mkdirSync(join(imageFolder, 'data'))
  await writePackages(platform, app)
}

/** What is not within the programs: addons and Node, as the lock file pins them, for a platform that need not be this one. */
async function writePackages(platform: Platform, app: string): Promise<void> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  const architecture = architectures[platform]
  const packages = new Map<string, Fetched>()
  function addWithDependencies(name: string, from = ''): void {
    const paths = [`${from}/node_modules/${name}`, `node_modules/${name}`]
    const path = paths.find((one) => lock.packages[one]) ?? ''
    const locked = lock.packages[path]
    if (!path || !locked || packages.has(path)) return
    const { os, cpu, libc, version, integrity, dependencies, optionalDependencies } = locked
    if ([os?.includes('linux'), cpu?.includes(architecture), libc?.includes('glibc')].includes(false)) return
    packages.set(path, { path, name, version, integrity })
    for (const one of Object.keys({ ...dependencies, ...optionalDependencies })) addWithDependencies(one, path)
  }
  for (const name of addons) addWithDependencies(name)
  const node = `node-linux-${architecture}`
  const { version } = lock.packages['node_modules/node'] as Locked
  packages.set(node, { path: node, name: node, version, integrity: undefined })
  for (const { files, path, name } of await fetchPackages([...packages.values()])) {
    for (const [file, { body, isExecutable }] of files) {
      const inside = file.slice(file.indexOf('/') + 1)
      if (name === node && inside !== 'bin/node') continue
      const target = name === node ? join(imageFolder, 'runtime/usr/local', inside) : join(app, path, inside)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, body, { mode: isExecutable ? 0o755 : 0o644 })
    }
  }
}

/** Throws where a package is not the one that the lock file names. */
async function fetchPackages(packages: readonly Fetched[]) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-packages-'))
  try {
    const specs = packages.map(({ name, version }) => `${name}@${version}`)
    const args = ['pack', '--json', '--silent', '--prefer-offline', '--pack-destination', folder, ...specs]
    const output = execFileSync('npm', args, { cwd: folder, encoding: 'utf8' })
    const packed = JSON.parse(output) as { name: string; filename: string }[]
    return await Promise.all(
      packages.map(async (one) => {
        const { filename = '' } = packed.find(({ name }) => name === one.name) ?? {}
        const archive = readFileSync(join(folder, filename))
        const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
        if (one.integrity && one.integrity !== integrity)
          throw new Error(`${one.name} ${one.version} is not the package that package-lock.json names`)
        return { ...one, files: await readTar(archive) }
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , name] = process.argv
  const platform = platforms.find((one) => (name ? one === name : architectures[one] === process.arch))
  if (!platform) throw new Error(`there is no image for ${name ?? process.arch}: ${platforms.join(', ')}`)
  await writeImageFiles(platform)
}
