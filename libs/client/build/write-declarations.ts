import { join, relative, resolve, dirname } from 'node:path'
import ts from 'typescript'

const libraries = resolve(import.meta.dirname, '../..')
const contracts = join(libraries, 'contracts/src')
const records = join(libraries, 'client/src/api/records.ts')
const published = /^(client\/src|contracts\/src\/constants)\//

/**
 * Writes the declarations of the client and of the constants below `output`. Those of `records.ts` come from zod schemas
 * and are written out, because the package has no dependencies.
 */
export function writeDeclarations(entries: string[], output: string): void {
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
    ts.sys.writeFile(file, text.replace(/\.ts'/g, ".js'").replaceAll('@gatehouse/contracts/constants', constants))
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
