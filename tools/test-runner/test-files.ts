import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** It judges what the others have collected. */
export const lastFile = 'libs/database/test/growing-statements.test.ts'

/** `npm run test:system` runs these, `npm test` all others. */
export const isSystemTest = (file: string): boolean => /\.system\.test\.tsx?$/.test(file)

/** Relative to the root. */
export function listTestFiles(root: string): string[] {
  const exclude = (path: string) => /(^|\/)(node_modules|dist)$/.test(path)
  return globSync('*/**/*.test.{ts,tsx}', { cwd: root, exclude }).sort()
}

/** The programs behind each function that starts a browser. */
const browserPrograms = {
  launchChromium: ['chromium-headless-shell'],
  launchFirefox: ['firefox-esr'],
  launchWebKit: ['webkit2gtk-driver', 'xvfb'],
} as const

/** Those of the browsers that these files start, or what they import from their folder. */
export function listBrowserPrograms(root: string, files: readonly string[]) {
  const names = [...withNeighbors(files.map((file) => join(root, file)))].flatMap(
    (path) => readFileSync(path, 'utf8').match(/\blaunch[A-Z]\w+/g) ?? [],
  )
  return Object.entries(browserPrograms).flatMap(([name, programs]) => (names.includes(name) ? programs : []))
}

/** These files, and what they import from their folder, directly or not. */
export function withNeighbors(paths: readonly string[]): Set<string> {
  const reached = new Set(paths)
  for (const path of reached) {
    const names = readFileSync(path, 'utf8').matchAll(/ from '\.\/([\w-]+\.tsx?)'/g)
    const imported = Array.from(names, ([, name = '']) => join(dirname(path), name))
    // A text of a test may look like an import.
    for (const file of imported) if (existsSync(file)) reached.add(file)
  }
  return reached
}

/** Until it has run. */
const expectedSeconds = (file: string): number => (/^(test|deploy)\//.test(file) ? 30 : 3)

/** What took longest comes first. */
export function orderFiles(files: readonly string[], durations: Readonly<Record<string, number>>): string[] {
  const duration = (file: string): number => durations[file] ?? expectedSeconds(file)
  return files.toSorted((a, b) => duration(b) - duration(a))
}

export function readDurations(path: string): Record<string, number> {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>) : {}
}

export function writeDurations(path: string, reports: readonly { file: string; seconds: number }[]): void {
  const ofRun = Object.fromEntries(reports.map(({ file, seconds }) => [file, seconds] as const))
  writeFileSync(path, JSON.stringify({ ...readDurations(path), ...ofRun }))
}
