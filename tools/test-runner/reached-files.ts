import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** What is loaded without being named: the built web app by its folder, and what every test runs under. */
const unnamed: Readonly<Record<string, readonly string[]>> = {
  'test/browser/start-instance.ts': ['services/web/src', 'services/web/index.html'],
}
const underEveryTest = ['package-lock.json', '.mocharc.json']

const code = /\.[cm]?[jt]sx?$/
const literal = /(['"`])((?:\\.|(?!\1)[^\\\n])+)\1/g
const placeholder = /\$\{[^}]*\}|\*+/

/** The files of the repository, and those that it does not ignore. */
export const listFiles = (root: string): string[] =>
  git(root, 'ls-files', '--cached', '--others', '--exclude-standard').filter((file) => existsSync(join(root, file)))

/** What differs in the working tree from where this branch left `ref`. Throws where git does not know it. */
export function listChanges(root: string, ref: string): string[] {
  const [base = ref] = git(root, 'merge-base', ref, 'HEAD')
  return [...git(root, 'diff', '--name-only', base), ...git(root, 'ls-files', '--others', '--exclude-standard')]
}

function git(root: string, ...args: string[]): string[] {
  const output = execFileSync('git', ['-c', 'core.quotePath=off', ...args], {
    cwd: root,
    encoding: 'utf8',
    stdio: 'pipe',
  })
  return output.split('\n').filter(Boolean)
}

/**
 * Those of `tests` that reach one of `changed`. A file reaches what it names in a text: `'./policy.ts'`, `'@gatehouse/bus'`,
 * `'docs/contract.md'`, a folder, and with any text in the place of `${…}` or `*` also `'services/*\/src/main.ts'`. Imports,
 * programs that are started and documents that are read are therefore one rule.
 */
export function findReached(root: string, changed: readonly string[], tests: readonly string[]): string[] {
  const files = listFiles(root)
  const findNamed = namedFiles(root, [...new Set([...files, ...changed])])
  const reaching = new Map<string, string[]>()
  const add = (file: string, target: string) => reaching.set(target, [...(reaching.get(target) ?? []), file])
  for (const file of files.filter((name) => code.test(name))) for (const target of findNamed(file)) add(file, target)
  for (const test of tests) for (const target of underEveryTest) add(test, target)
  const reached = new Set(changed)
  for (const file of reached) for (const by of reaching.get(file) ?? []) reached.add(by)
  return tests.filter((test) => reached.has(test))
}

/** Gives the files that the texts of a file name. */
function namedFiles(root: string, files: readonly string[]): (file: string) => ReadonlySet<string> {
  const existing = new Set(files)
  const packages = readPackages(root, files)
  const inFolder = new Map<string, string[]>()
  for (const file of files) {
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder))
      inFolder.set(folder, [...(inFolder.get(folder) ?? []), file])
  }
  const at = (path: string) => (existing.has(path) ? [path] : (inFolder.get(path.replace(/\/$/, '')) ?? []))

  function resolve(text: string, from: string): readonly string[] {
    if (placeholder.test(text)) return matching(text, files)
    const ofPackage = packages.get(text)
    if (ofPackage) return ofPackage
    const beside = posix.join(dirname(from), text)
    if (text.startsWith('.')) return at(beside)
    return text.includes('/') ? [...at(text), ...at(beside)] : existing.has(text) ? [text] : []
  }

  return (file) => {
    const texts = Array.from(readFileSync(join(root, file), 'utf8').matchAll(literal), ([, , text = '']) => text)
    return new Set([...texts, ...(unnamed[file] ?? [])].flatMap((text) => resolve(text, file)))
  }
}

/** `/src/main.ts` has to be left, for example: less names everything. */
function matching(text: string, files: readonly string[]): string[] {
  const parts = text.split(new RegExp(placeholder, 'g'))
  if (!/\/[^/]+\.\w+$/.test(parts.at(-1) ?? '')) return []
  const pattern = new RegExp(`^${parts.map((part) => escapeRegExp(part.replace(/^(\.\.?\/)+/, ''))).join('.*')}$`)
  return files.filter((file) => pattern.test(file))
}

export const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** By the name that an import has. */
function readPackages(root: string, files: readonly string[]): Map<string, string[]> {
  const manifests = files.filter((file) => file.endsWith('/package.json') && existsSync(join(root, file)))
  const entries = manifests.flatMap((file) => {
    const { name = '', exports = {} } = JSON.parse(readFileSync(join(root, file), 'utf8')) as Manifest
    const targets = typeof exports === 'string' ? { '.': exports } : exports
    return Object.entries(targets).map(([path, target]) => {
      const from = JSON.stringify(target).matchAll(/"(\.[^"]+)"/g)
      return [posix.join(name, path), Array.from(from, ([, one = '']) => posix.join(dirname(file), one))] as const
    })
  })
  return new Map(entries)
}

type Manifest = { name?: string; exports?: string | Record<string, unknown> }
