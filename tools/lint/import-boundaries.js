// The ESLint rule that keeps packages in their layers: docs in README.md, "Folders".
import { dirname, relative, resolve, sep } from 'node:path'

/** The libraries from the lowest layer to the highest; those of one layer do not import each other. */
export const layers = [
  ['runtime', 'contracts'],
  ['outbound', 'local-servers', 'client', 'upstream'],
  ['domain'],
  ['database'],
  ['bus'],
  ['auth'],
  ['service-kit'],
  ['test-kit'],
]

/**
 * Why a file may not import a module, or undefined when it may. `file` is relative to the root of the repository.
 * @param {string} file
 * @param {string} source
 * @returns {string | undefined}
 */
export function explainImport(file, source) {
  const from = packageOf(file)
  if (!from) return undefined
  const to = targetOf(file, source)
  if (!to || to === from) return undefined
  if (source.startsWith('.')) return `import ${to} by the name of its package, not by a path`
  const layer = layerOf(to)
  if (layer < 0) return `${from} must not import ${to}: services talk over the bus and HTTP`
  if (isTest(file)) return undefined
  if (layer < layerOf(from) || layerOf(from) < 0) return undefined
  return `${from} must not import ${to}, which is in its own layer or a higher one`
}

/**
 * The package of an import, as a path; undefined for what is none of this repository's packages.
 * @param {string} file
 * @param {string} source
 */
function targetOf(file, source) {
  if (source.startsWith('.')) return packageOf(resolve('/', dirname(file), source).slice(1))
  const name = /^@gatehouse\/([^/]+)/.exec(source)?.[1]
  if (!name) return undefined
  if (name === 'gateway') return 'gateway'
  return layerOf(`libs/${name}`) >= 0 ? `libs/${name}` : `services/${name}`
}

/** @param {string} path */
function packageOf(path) {
  return /^(?:gateway|(?:services|libs)\/[^/]+)(?=\/)/.exec(path)?.[0]
}

/** @param {string} name */
function layerOf(name) {
  return layers.findIndex((libraries) => libraries.some((library) => name === `libs/${library}`))
}

/** @param {string} file */
function isTest(file) {
  return /\.test\.tsx?$|\/test\//.test(file)
}

/** @type {import('eslint').Rule.RuleModule} */
export const importBoundaries = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    const file = relative(context.cwd, context.filename).split(sep).join('/')
    /** @param {any} node */
    const check = (node) => {
      const reason = typeof node.source?.value === 'string' ? explainImport(file, node.source.value) : undefined
      if (reason) context.report({ node: node.source, message: reason })
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    }
  },
}
