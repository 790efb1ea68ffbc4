import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export type FileReport = { file: string; passed: number; failed: number; seconds: number; output: string }

type Options = {
  file: string
  env: NodeJS.ProcessEnv
  /** Of mocha. */
  reporter: string
  signal: AbortSignal
  limitMs?: number
}

const lastOutputMs = 1_000

/**
 * Runs one test file in a process of its own. A file that does not load, crashes, or exceeds its time limit counts as one
 * failed test beside those that it reported, and stops no other file.
 */
export async function runTestFile({ file, env, reporter, signal, limitMs = 300_000 }: Options): Promise<FileReport> {
  const startedAt = performance.now()
  const child = fork(resolve(import.meta.dirname, 'mocha-process.ts'), [resolve(file), reporter], { env, silent: true })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const counts = { passed: 0, failed: 0 }
  child.on('message', (message) => Object.assign(counts, message))
  const limit = AbortSignal.timeout(limitMs)
  AbortSignal.any([signal, limit]).addEventListener('abort', () => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  // A process that the file left running may hold the output open.
  await Promise.race([closed, pause(lastOutputMs, undefined, { ref: false })])
  if (code !== 0 || counts.passed + counts.failed === 0) {
    counts.failed += 1
    const end = limit.aborted
      ? `exceeded its limit of ${limitMs / 1000} s`
      : `ended with ${killedBy ?? `exit code ${code}`}`
    chunks.push(Buffer.from(`\n  the file itself failed: it ${end}\n`))
  }
  const seconds = (performance.now() - startedAt) / 1000
  return { file, ...counts, seconds, output: Buffer.concat(chunks).toString('utf8') }
}
