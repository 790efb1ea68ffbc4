import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** Tests of whole instances under load, which keep more than a core busy each. They run after all others, two at a time. */
export const heavyFiles: readonly string[] = [
  'test/faults.test.ts',
  'test/fuzz.test.ts',
  'test/revocation.test.ts',
  'test/upgrade.test.ts',
]

/** Tests that wait most of their time: for servers that restart, drains, sessions that expire. They run beside the others. */
export const waitingFiles: readonly string[] = [
  'deploy/test/embedded-drain.test.ts',
  'deploy/test/waiting-start.test.ts',
  'gateway/test/drain.test.ts',
  'libs/bus/test/nats-faults.test.ts',
  'test/sessions.test.ts',
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

/** Files of one folder share a process while together they take no longer than this, in seconds. */
const batchSeconds = 90
/** What a file is taken to need that has not run yet, in seconds: the tests of the whole system have processes of their own. */
const expectedSeconds = (file: string): number => (/^(test|deploy)\//.test(file) ? Number.MAX_VALUE : 3)

/**
 * Which files run side by side, in batches for one process each, which wait beside them, and which run after them; what took
 * longest in the last run comes first.
 */
export function planRun(files: readonly string[], durations: Readonly<Record<string, number>>) {
  const duration = (file: string): number => durations[file] ?? expectedSeconds(file)
  const {
    heavy = [],
    waiting = [],
    parallel = [],
  } = Object.groupBy(files, (file) => {
    if (heavyFiles.includes(file)) return 'heavy'
    return waitingFiles.includes(file) ? 'waiting' : 'parallel'
  })
  const alone = (file: string): Batch => ({ files: [file], seconds: duration(file) })
  const ordered = (batches: Batch[]): string[][] =>
    batches.toSorted((a, b) => b.seconds - a.seconds).map((batch) => batch.files)
  return {
    heavy: ordered(heavy.map(alone)),
    waiting: ordered(waiting.map(alone)),
    parallel: ordered(batch(parallel, duration)),
  }
}

type Batch = { files: string[]; seconds: number }

/** Starting a process and loading the modules of a service takes longer than most of its test files. */
function batch(files: readonly string[], duration: (file: string) => number): Batch[] {
  const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/')
  const byFolder = Object.values(Object.groupBy(files, folderOf)) as string[][]
  return byFolder.flatMap((inFolder) => {
    const batches: Batch[] = []
    for (const file of inFolder) {
      const seconds = duration(file)
      const fitting = batches.find((one) => one.seconds + seconds <= batchSeconds)
      if (!fitting) batches.push({ files: [file], seconds })
      else {
        fitting.files.push(file)
        fitting.seconds += seconds
      }
    }
    return batches
  })
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
