import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { writeDeclarations } from './write-declarations.ts'

const source = resolve(import.meta.dirname, '..')
const run = promisify(execFile)

/**
 * Builds the client library into `folder`: a package of JavaScript and declarations in `folder/package`, and its
 * tarball. The package has no dependencies: what it uses of the contracts is bundled.
 */
export async function buildClient(folder: string): Promise<{ tarball: string; gzipBytes: number }> {
  const output = resolve(folder, 'package')
  await rm(output, { recursive: true, force: true })
  await mkdir(output, { recursive: true })
  await bundle(output)
  const types = await writeDeclarations({ entry: join(source, 'src/index.ts'), output })
  await writePackageJson(output, types)
  await cp(join(source, 'README.md'), join(output, 'README.md'))
  const packed = await run('npm', ['pack', '--json', '--pack-destination', resolve(folder)], { cwd: output })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  const gzipBytes = gzipSync(await readFile(join(output, 'index.js')), { level: 9 }).length
  return { tarball: join(resolve(folder), filename), gzipBytes }
}

/** One minified module; its source map holds the sources. */
async function bundle(output: string): Promise<void> {
  await build({
    root: source,
    configFile: false,
    logLevel: 'warn',
    build: {
      outDir: output,
      emptyOutDir: false,
      target: 'es2024',
      sourcemap: true,
      lib: { entry: 'src/index.ts', formats: ['es'], fileName: () => 'index.js' },
      // Vite leaves the whitespace in a library's module unless it is told otherwise.
      rolldownOptions: { output: { minify: true, comments: false } },
    },
  })
}

async function writePackageJson(output: string, types: string): Promise<void> {
  const { name, version, description, sideEffects } = JSON.parse(
    await readFile(join(source, 'package.json'), 'utf8'),
  ) as Record<string, unknown>
  const manifest = {
    ...{ name, version, description, sideEffects },
    type: 'module',
    exports: { types, default: './index.js' },
    types,
    engines: { node: '>=22' },
  }
  await writeFile(join(output, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
