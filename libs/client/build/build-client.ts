import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { writeDeclarations } from './write-declarations.ts'

const source = resolve(import.meta.dirname, '..')
const run = promisify(execFile)

const modules = [
  { path: '.', file: 'index.js', entry: 'src/index.ts' },
  { path: './identity', file: 'identity.js', entry: 'src/identity/index.ts' },
]

/** Contracts are bundled: no dependencies. `gzipBytes`: of each module. */
export async function buildClient(folder: string): Promise<{ tarball: string; gzipBytes: Record<string, number> }> {
  const output = resolve(folder, 'package')
  await rm(output, { recursive: true, force: true })
  await mkdir(output, { recursive: true })
  for (const module of modules) await bundle(module, output)
  writeDeclarations(
    modules.map(({ entry }) => join(source, entry)),
    join(output, 'types'),
  )
  await writePackageJson(output)
  await cp(join(source, 'README.md'), join(output, 'README.md'))
  const packed = await run('npm', ['pack', '--json', '--pack-destination', resolve(folder)], { cwd: output })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  const gzipBytes: Record<string, number> = {}
  for (const { file } of modules) {
    gzipBytes[file] = gzipSync(await readFile(join(output, file)), { level: 9 }).length
  }
  return { tarball: join(resolve(folder), filename), gzipBytes }
}

async function bundle({ file, entry }: { file: string; entry: string }, output: string): Promise<void> {
  await build({
    root: source,
    configFile: false,
    logLevel: 'warn',
    build: {
      outDir: output,
      emptyOutDir: false,
      target: 'es2024',
      sourcemap: true,
      lib: { entry, formats: ['es'], fileName: () => file },
      // Vite keeps whitespace in libraries by default.
      rolldownOptions: { output: { minify: true, comments: false } },
    },
  })
}

async function writePackageJson(output: string): Promise<void> {
  const { name, version, description, sideEffects } = JSON.parse(
    await readFile(join(source, 'package.json'), 'utf8'),
  ) as Record<string, unknown>
  const manifest = {
    ...{ name, version, description, sideEffects },
    type: 'module',
    exports: Object.fromEntries(
      modules.map(({ path, file, entry }) => [path, { types: typesOf(entry), default: `./${file}` }]),
    ),
    types: typesOf('src/index.ts'),
    engines: { node: '>=22' },
  }
  await writeFile(join(output, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

const typesOf = (entry: string): string => `./types/client/${entry.replace(/\.ts$/, '.d.ts')}`
