import type { Rule } from 'eslint'
import ts from 'typescript'
import { listNewerApis } from './newer-apis.ts'

type TypedServices = { program: ts.Program; esTreeNodeToTSNodeMap: { get: (node: object) => ts.Node } }

const newer = listNewerApis()
/** What TypeScript's declarations add to the name of a class, and the owners of globals. */
const additions = /^Readonly(?=Array$|Map$|Set$)|(?<=^Iterator)Object$|Constructor$|^Window(OrWorkerGlobalScope)?$/

/** The name in `listNewerApis` of what TypeScript's libraries declare: `Array.at`, `Intl.Segmenter`, `fetch`. */
function nameOf(symbol: ts.Symbol, { parent }: ts.Declaration, checker: ts.TypeChecker): string {
  // `declare var URL: { parse(…): … }`, and what has an interface or stands alone.
  const owner = ts.isTypeLiteralNode(parent) ? parent.parent : parent
  const name = (owner as Partial<ts.NamedDeclaration>).name
  const ownerSymbol = name && checker.getSymbolAtLocation(name)
  const ownerName = ownerSymbol && checker.getFullyQualifiedName(ownerSymbol).replace(additions, '')
  return ownerName ? `${ownerName}.${symbol.name}` : symbol.name
}

/** Needs the types: `map` of an array is old, that of an iterator is not. */
export const refuseNewerApis: Rule.RuleModule = {
  meta: { messages: { newer: '{{name}} is newer than the oldest browsers (tools/browsers/supported-browsers.ts).' } },
  create(context) {
    const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices as TypedServices
    const checker = program.getTypeChecker()
    return {
      ':not(TSTypeReference, TSQualifiedName, TSInterfaceHeritage) > Identifier'(node: Rule.Node) {
        const symbol = checker.getSymbolAtLocation(esTreeNodeToTSNodeMap.get(node))
        const newApi = symbol?.declarations
          ?.filter((declaration) => program.isSourceFileDefaultLibrary(declaration.getSourceFile()))
          .map((declaration) => nameOf(symbol, declaration, checker))
          .find((name) => newer.has(name))
        if (newApi) context.report({ node, messageId: 'newer', data: { name: newApi } })
      },
    }
  },
}
