import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve, relative, dirname } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'vite'
import ts from 'typescript'
import { buildTarget } from '../../../tools/browsers/supported-browsers.ts'
import { tableOfClients } from '../../../tools/browsers/table-of-clients.ts'

const source = resolve(import.meta.dirname, '..')
const libraries = join(source, '..')
const contracts = join(libraries, 'contracts/src')
const records = join(source, 'src/api/records.ts')
type Module = { path: string; file: string; entry: string }

const run = promisify(execFile)
const published = /^(client\/src|contracts\/src\/constants)\//

/** Writes the declarations below `output`. Those from zod schemas are written out: the package has no dependencies. */
function writeDeclarations(modules: readonly Module[], output: string): void {
  const entries = modules.map(({ entry }) => join(source, entry))
  const config = ts.readConfigFile(join(libraries, '../tsconfig.json'), ts.sys.readFile)
  const program = ts.createProgram(entries, {
    ...ts.parseJsonConfigFileContent(config.config, ts.sys, join(libraries, '..')).options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: libraries,
    outDir: output,
    types: [],
    // TypeScript emits no declarations of what it finds by the name of a package.
    paths: {
      '@gatehouse/contracts': [join(contracts, 'index.ts')],
      '@gatehouse/contracts/*': [join(contracts, '*/index.ts')],
    },
  })
  const write: ts.WriteFileCallback = (file, declaration, _, __, sources) => {
    if (!published.test(relative(output, file))) return
    const constants = relative(dirname(file), join(output, 'contracts/src/constants/index.js'))
    const text = sources?.[0]?.fileName === records ? writeOutTypes(program) : declaration
    ts.sys.writeFile(file, text.replace(/\.ts(?=['"])/g, '.js').replaceAll('@gatehouse/contracts/constants', constants))
  }
  const { diagnostics } = program.emit(undefined, write, undefined, true)
  const [problem] = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  if (problem) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
}

function writeOutTypes(program: ts.Program): string {
  const checker = program.getTypeChecker()
  const { NoTruncation, InTypeAlias } = ts.TypeFormatFlags
  const write = (type: ts.Type) => checker.typeToString(type, undefined, NoTruncation | InTypeAlias)
  // Member by member: the compiler prints the name of a nested type that has one.
  const writeMembers = (type: ts.Type, writeOne: (type: ts.Type) => string) =>
    `{ ${type
      .getProperties()
      .map((member) => `${member.name}: ${writeOne(checker.getTypeOfSymbol(member))}`)
      .join('; ')} }`
  const module = checker.getSymbolAtLocation(program.getSourceFile(records) as ts.Node) as ts.Symbol
  return checker
    .getExportsOfModule(module)
    .map((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const type = checker.getDeclaredTypeOfSymbol(symbol)
      const isTable = exported.name === 'Endpoints'
      const text = isTable ? writeMembers(type, (endpoint) => writeMembers(endpoint, write)) : write(type)
      const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker))
      return `${comment && `/** ${comment} */\n`}export type ${exported.name} = ${text}\n`
    })
    .join('')
}

/** Contracts are bundled: no dependencies. `gzipBytes`: of each module. */
export async function buildClient(folder: string): Promise<{ tarball: string; gzipBytes: Record<string, number> }> {
  const output = resolve(folder, 'package')
  await rm(output, { recursive: true, force: true })
  await mkdir(output, { recursive: true })
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Record<string, unknown>
  const modules = Object.entries(manifest['exports'] as Record<string, string>).map(([path, entry]) => {
    return { path, file: `${path.slice(2) || 'index'}.js`, entry }
  })
  for (const module of modules) await bundle(module, output, modules)
  writeDeclarations(modules, join(output, 'types'))
  await writePackageJson(manifest, modules, output)
  await cp(join(source, 'README.md'), join(output, 'README.md'))
  const packed = await run('npm', ['pack', '--json', '--pack-destination', resolve(folder)], { cwd: output })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  const sizeOf = async (file: string) => gzipSync(await readFile(join(output, file)), { level: 9 }).length
  const sizes = await Promise.all(modules.map(async ({ file }) => [file, await sizeOf(file)] as const))
  return { tarball: join(resolve(folder), filename), gzipBytes: Object.fromEntries(sizes) }
}

/** What a module loads only when it needs it, and what is a module of the package too, is that one's file. */
const laterModules = (modules: readonly Module[]): Plugin => ({
  name: 'later-modules',
  resolveId(specifier, importer, { kind }) {
    if (kind !== 'dynamic-import' || !importer) return null
    const path = resolve(dirname(importer), specifier)
    const module = modules.find(({ entry }) => join(source, entry) === path)
    return module ? { id: `./${module.file}`, external: 'absolute' } : null
  },
})

async function bundle({ file, entry }: Module, output: string, modules: readonly Module[]): Promise<void> {
  await build({
    root: source,
    // Workers are found beside the file that starts them.
    base: './',
    configFile: false,
    logLevel: 'warn',
    plugins: [tableOfClients, laterModules(modules)],
    build: {
      outDir: output,
      emptyOutDir: false,
      target: buildTarget,
      sourcemap: true,
      lib: { entry, formats: ['es'], fileName: () => file },
      // Vite keeps whitespace in libraries by default.
      rolldownOptions: {
        external: ['react'],
        output: { minify: true, comments: false },
        // No getter does more than read: tables that spread others go where nothing uses them.
        treeshake: { propertyReadSideEffects: false, unknownGlobalSideEffects: false },
        optimization: { inlineConst: { mode: 'all' } },
      },
    },
  })
}

async function writePackageJson(of: Record<string, unknown>, modules: Module[], output: string): Promise<void> {
  const { name, version, description, sideEffects, peerDependencies, peerDependenciesMeta } = of
  const typesOf = (entry: string): string => `./types/client/${entry.slice(2).replace(/\.ts$/, '.d.ts')}`
  const exported = modules.map(
    ({ path, file, entry }) => [path, { types: typesOf(entry), default: `./${file}` }] as const,
  )
  const manifest = {
    name,
    version,
    description,
    sideEffects,
    type: 'module',
    exports: Object.fromEntries(exported),
    types: typesOf('./src/index.ts'),
    engines: { node: '>=22' },
    peerDependencies,
    peerDependenciesMeta,
  }
  await writeFile(join(output, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
