import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'

const source = resolve(import.meta.dirname, '..')
const run = promisify(execFile)

/** JavaScript and declarations go to `folder/package`. Gives the path of the tarball. It depends on jose and nats only. */
export async function buildUpstream(folder: string): Promise<string> {
  const output = resolve(folder, 'package')
  await rm(output, { recursive: true, force: true })
  await mkdir(output, { recursive: true })
  await compile(join(source, 'src/index.ts'), output)
  const text = await readFile(join(source, 'package.json'), 'utf8')
  const { name, version, description, sideEffects, dependencies } = JSON.parse(text) as Record<string, unknown>
  const manifest = {
    name,
    version,
    description,
    sideEffects,
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    dependencies,
    engines: { node: '>=22' },
  }
  await writeFile(join(output, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await cp(join(source, 'README.md'), join(output, 'README.md'))
  const packed = await run('npm', ['pack', '--json', '--pack-destination', resolve(folder)], { cwd: output })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  return join(resolve(folder), filename)
}

/** Writes one module and one declaration for each file that `entry` reaches. Throws on a type error. */
async function compile(entry: string, output: string): Promise<void> {
  const config = ts.readConfigFile(join(source, '../../tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config.config, include: [] }, ts.sys, source)
  const program = ts.createProgram([entry], {
    ...options,
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(source, 'src'),
    outDir: output,
    types: ['node'],
  })
  const files: { path: string; text: string }[] = []
  const { diagnostics } = program.emit(undefined, (path, text) => void files.push({ path, text }))
  const problem = [...ts.getPreEmitDiagnostics(program), ...diagnostics][0]
  if (problem) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
  for (const { path, text } of files) {
    await mkdir(resolve(path, '..'), { recursive: true })
    // The compiler rewrites the imports of modules, and leaves those of declarations.
    await writeFile(path, text.replace(/(\bfrom |\bimport\()(['"]\.[^'"]*)\.ts(['"])/g, '$1$2.js$3'))
    if (relative(output, path).startsWith('..')) throw new Error(`${path} lies outside of the package`)
  }
}
