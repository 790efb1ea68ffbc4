import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** Tests of the whole system that keep both cores busy. They run one at a time, after all others. */
export const exclusiveFiles: readonly string[] = [
  'test/faults.test.ts',
  'test/fuzz.test.ts',
  'test/revocation.test.ts',
  'test/upgrade.test.ts',
]

/**
 * The test files at or below these paths, by default all, sorted, relative to the project's root. Throws on a path that
 * has none.
 */
export function listTestFiles(root: string, paths: readonly string[]): string[] {
  const exclude = (path: string) => /(^|\/)(node_modules|dist)$/.test(path)
  const all = globSync('*/**/*.test.{ts,tsx}', { cwd: root, exclude }).sort()
  if (paths.length === 0) return all
  const selected = paths.flatMap((path) => {
    const name = relative(root, resolve(root, path))
    const files = all.filter((file) => file === name || file.startsWith(`${name}/`))
    if (files.length === 0) throw new Error(`no test file at ${path}`)
    return files
  })
  return [...new Set(selected)].sort()
}

/** Whether any of these files runs a browser. */
export function needsBrowser(root: string, files: readonly string[]): boolean {
  return files.some((file) => /\blaunchChromium\b|\bchromiumPath\b/.test(readFileSync(join(root, file), 'utf8')))
}

/**
 * Which files run side by side and which alone, those that took longest in the last run first. Without a last run the
 * tests of the whole system are first.
 */
export function planRun(files: readonly string[], durations: Readonly<Record<string, number>>) {
  const duration = (file: string) => durations[file] ?? (/^(test|deploy)\//.test(file) ? Number.MAX_VALUE : 0)
  const longestFirst = files.toSorted((a, b) => duration(b) - duration(a))
  const { exclusive = [], parallel = [] } = Object.groupBy(longestFirst, (file) =>
    exclusiveFiles.includes(file) ? 'exclusive' : 'parallel',
  )
  return { exclusive, parallel }
}

/** Seconds for each file, from the runs before. */
export function readDurations(path: string): Record<string, number> {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>) : {}
}

export function writeDurations(path: string, reports: readonly { file: string; seconds: number }[]): void {
  const durations = {
    ...readDurations(path),
    ...Object.fromEntries(reports.map(({ file, seconds }) => [file, seconds])),
  }
  writeFileSync(path, JSON.stringify(durations))
}
