import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'

const libraries = resolve(import.meta.dirname, '../..')
const contracts = join(libraries, 'contracts/src')
const contractTypes = join(libraries, 'client/src/api/records.ts')

const printed: ts.TypeFormatFlags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias

/**
 * Returns the entries' paths relative to `output`. Writes out the types of `records.ts`, which come from zod schemas:
 * the package needs no zod. Throws when a declaration refers to another package.
 */
export async function writeDeclarations({ entries, output }: { entries: string[]; output: string }): Promise<string[]> {
  const program = createProgram(entries)
  const emitted = emitDeclarations(program)
  const types = join(output, 'types')
  const written = new Set<string>()
  const pending = [...entries]
  for (let source = pending.pop(); source; source = pending.pop()) {
    if (written.has(source)) continue
    written.add(source)
    const text = source === contractTypes ? writeOutTypes(program, source) : (emitted.get(source) ?? '')
    const { declaration, imports } = withRelativeImports(text, source)
    pending.push(...imports)
    const file = join(types, relative(libraries, source)).replace(/\.ts$/, '.d.ts')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, declaration)
  }
  return entries.map((entry) => `./types/${relative(libraries, entry).replace(/\.ts$/, '.d.ts')}`)
}

function createProgram(entries: string[]): ts.Program {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(libraries, '../tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'))
      },
    },
  )
  const options: ts.CompilerOptions = {
    ...config?.options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: libraries,
    types: [],
    // Paths, because TypeScript emits no declarations for packages.
    paths: {
      '@gatehouse/contracts': [join(contracts, 'index.ts')],
      '@gatehouse/contracts/*': [join(contracts, '*/index.ts')],
    },
  }
  return ts.createProgram(entries, options)
}

function emitDeclarations(program: ts.Program): Map<string, string> {
  const emitted = new Map<string, string>()
  const { diagnostics } = program.emit(
    undefined,
    (_, text, __, ___, sources) => {
      if (sources?.[0]) emitted.set(sources[0].fileName, text)
    },
    undefined,
    true,
  )
  const problem = [...ts.getPreEmitDiagnostics(program), ...diagnostics][0]
  if (problem) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
  return emitted
}

function writeOutTypes(program: ts.Program, source: string): string {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(source)
  const module = file && checker.getSymbolAtLocation(file)
  if (!module) throw new Error(`${source} is not a module`)
  return checker
    .getExportsOfModule(module)
    .map((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const declared = checker.getDeclaredTypeOfSymbol(symbol)
      const type = exported.name === 'Endpoints' ? writeTable(checker, declared, 2) : writeType(checker, declared)
      const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker))
      return `${comment && `/** ${comment} */\n`}export type ${exported.name} = ${type};\n`
    })
    .join('')
}

const writeType = (checker: ts.TypeChecker, type: ts.Type) => checker.typeToString(type, undefined, printed)

/** Otherwise the compiler prints the mapping. */
function writeTable(checker: ts.TypeChecker, type: ts.Type, depth: number): string {
  if (depth === 0) return writeType(checker, type)
  const fields = type
    .getProperties()
    .map((field) => `  ${field.name}: ${writeTable(checker, checker.getTypeOfSymbol(field), depth - 1)};\n`)
  return `{\n${fields.join('')}}`
}

function withRelativeImports(text: string, source: string): { declaration: string; imports: string[] } {
  const imports: string[] = []
  const declaration = text.replace(/(\bfrom |\bimport\()(['"])([^'"]+)\2/g, (_, before: string, __, name: string) => {
    const imported = name.startsWith('.') ? resolve(dirname(source), name) : constantsOf(name, source)
    imports.push(imported)
    const path = relative(dirname(source), imported).replace(/\.ts$/, '.js')
    return `${before}'${path.startsWith('.') ? path : `./${path}`}'`
  })
  return { declaration, imports }
}

function constantsOf(name: string, source: string): string {
  if (name === '@gatehouse/contracts/constants') return join(contracts, 'constants/index.ts')
  throw new Error(`The declaration of ${source} refers to ${name}: take types of the contract from records.ts`)
}
