import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** They load the whole machine, and run after all others. */
export const heavyFiles: readonly string[] = [
  'test/faults.test.ts',
  'test/fuzz.test.ts',
  'test/revocation.test.ts',
  'test/upgrade.test.ts',
]

/** They wait most of their time, and run beside the others. */
export const waitingFiles: readonly string[] = [
  'deploy/test/embedded-drain.test.ts',
  'deploy/test/waiting-start.test.ts',
  'gateway/test/drain.test.ts',
  'libs/bus/test/nats-faults.test.ts',
  'test/sessions.test.ts',
]

/** It judges what the others have collected. */
export const lastFile = 'libs/database/test/growing-statements.test.ts'

/** Relative to the root. Throws on a path that has none. */
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

export function needsBrowser(root: string, files: readonly string[]): boolean {
  return files.some((file) => /\blaunchChromium\b|\bchromiumPath\b/.test(readFileSync(join(root, file), 'utf8')))
}

/** For files of one folder. */
const batchSeconds = 90
/** Until it has run. */
const expectedSeconds = (file: string): number => (/^(test|deploy)\//.test(file) ? 30 : 3)

/** What took longest comes first. */
export function planRun(files: readonly string[], durations: Readonly<Record<string, number>>) {
  const duration = (file: string): number => durations[file] ?? expectedSeconds(file)
  const groups = Object.groupBy(files, (file) => {
    if (file === lastFile) return 'last'
    if (heavyFiles.includes(file)) return 'heavy'
    return waitingFiles.includes(file) ? 'waiting' : 'parallel'
  })
  const { heavy = [], waiting = [], parallel = [], last = [] } = groups
  const alone = (file: string): Batch => ({ files: [file], seconds: duration(file) })
  const ordered = (batches: Batch[]): string[][] =>
    batches.toSorted((a, b) => b.seconds - a.seconds).map((batch) => batch.files)
  return {
    heavy: ordered(heavy.map(alone)),
    waiting: ordered(waiting.map(alone)),
    parallel: ordered(batch(parallel, duration)),
    last: [last],
  }
}

type Batch = { files: string[]; seconds: number }

/** Loading a service takes longer than most of its test files. */
function batch(files: readonly string[], duration: (file: string) => number): Batch[] {
  const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/')
  const byFolder = Object.values(Object.groupBy(files, folderOf)) as string[][]
  return byFolder.flatMap((inFolder) => {
    const batches: Batch[] = []
    for (const file of inFolder) {
      const seconds = duration(file)
      const fitting = batches.find((one) => one.seconds + seconds <= batchSeconds)
      fitting?.files.push(file)
      if (fitting) fitting.seconds += seconds
      else batches.push({ files: [file], seconds })
    }
    return batches
  })
}

export function readDurations(path: string): Record<string, number> {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>) : {}
}

export function writeDurations(path: string, reports: readonly { file: string; seconds: number }[]): void {
  const ofRun = Object.fromEntries(reports.map(({ file, seconds }) => [file, seconds] as const))
  writeFileSync(path, JSON.stringify({ ...readDurations(path), ...ofRun }))
}
