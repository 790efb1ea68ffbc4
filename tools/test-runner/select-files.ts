import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { readTitles } from '../rules/rules.ts'
import { escapeRegExp, findReached, listChanges } from './reached-files.ts'
import { isSystemTest, listTestFiles, withNeighbors } from './test-files.ts'

export type Selection = {
  files: string[]
  /** Of each file the tests whose path and full title contain all of them. */
  words: string[]
  /** What was asked for; empty for all files. */
  reason: string
}

/** Names them where they are few. */
export function describeSelection({ files, reason }: Selection): string {
  const names = files.length <= 20 ? `: ${files.join(', ')}` : ''
  return `${files.length} test files${reason && `, ${reason}`}${names}`
}

/**
 * `[--system] [--changed [ref]] [path or word ...]` gives the files at or below the paths that a change reaches and that
 * contain all words in their path or in a title. Throws when there is none.
 */
export function selectFiles(root: string, args: readonly string[]): Selection {
  const { isSystem, ref, paths, words } = readArguments(root, args)
  const reasons = [paths.join(' '), ref && `reached by what differs from ${ref}`, words.join(' ')]
  const reason = reasons.filter(Boolean).join(', ')
  const atPaths = listTestFiles(root).filter((file) => paths.length === 0 || paths.some((path) => isBelow(file, path)))
  const ofRun = atPaths.filter((file) => isSystemTest(file) === isSystem)
  const reached = ref === undefined ? ofRun : findReached(root, listChanges(root, ref), ofRun)
  const files = reached.filter((file) => containsAll(root, file, words))
  if (files.length > 0) return { files, words, reason }
  const [other, own] = isSystem ? ['npm test', 'npm run test:system'] : ['npm run test:system', 'npm test']
  const hint = ofRun.length === 0 && atPaths.length > 0 ? `; ${other} has ${atPaths.join(', ')}` : ''
  throw new Error(`${own} selects no test file: ${reason}${hint}`)
}

function readArguments(root: string, args: readonly string[]) {
  const rest = args.filter((arg) => arg !== '--system')
  const at = rest.indexOf('--changed')
  const next = rest[at + 1]
  const ref = next !== undefined && !existsSync(resolve(root, next)) && isCommit(root, next) ? next : undefined
  if (at >= 0) rest.splice(at, ref === undefined ? 1 : 2)
  const unknown = rest.find((arg) => arg.startsWith('-'))
  if (unknown) throw new Error(`unknown option ${unknown}: there are --changed [ref], paths and words`)
  const isPath = (arg: string) => existsSync(resolve(root, arg))
  return {
    isSystem: args.includes('--system'),
    ref: at >= 0 ? (ref ?? 'HEAD') : undefined,
    paths: rest.filter(isPath).map((path) => relative(root, resolve(root, path))),
    words: rest.filter((arg) => !isPath(arg)).flatMap((arg) => arg.toLowerCase().split(' ')),
  }
}

const isBelow = (file: string, path: string) => path === '' || file === path || file.startsWith(`${path}/`)

function isCommit(root: string, name: string): boolean {
  try {
    execFileSync('git', ['rev-parse', '--verify', '--quiet', `${name}^{commit}`], { cwd: root, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A title that is made of values counts as its source writes it. */
function containsAll(root: string, file: string, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const titles = [...withNeighbors([join(root, file)])].flatMap((path) => readTitles(readFileSync(path, 'utf8')))
  const text = [file, ...titles].join('\n').toLowerCase()
  return words.every((word) => text.includes(word))
}

/** For mocha: what a full title must contain, since the path of the file does not. Undefined when nothing is. */
export function titlePattern(file: string, words: readonly string[]): string | undefined {
  const otherWords = words.filter((word) => !file.toLowerCase().includes(word))
  if (otherWords.length === 0) return undefined
  return `^${otherWords.map((word) => `(?=[^]*${escapeRegExp(word)})`).join('')}`
}
