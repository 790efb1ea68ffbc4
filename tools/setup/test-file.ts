import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { FileOutcome } from './run-test-file.ts'

export type FileReport = FileOutcome & { file: string; output: string; seconds: number }

const FILE_LIMIT_MS = 300_000
const LAST_OUTPUT_MS = 1_000
const runner = resolve(import.meta.dirname, 'run-test-file.ts')

/**
 * Runs one test file in a process of its own, so that one that does not load, crashes or hangs fails alone: that counts
 * as one failed test beside those it reported.
 */
export async function runTestFile(file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<FileReport> {
  const startedAt = performance.now()
  const child = fork(runner, [file], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const outcome: FileOutcome = { passed: 0, failed: 0 }
  child.on('message', (message) => Object.assign(outcome, message))
  const limit = setTimeout(() => child.kill('SIGKILL'), FILE_LIMIT_MS)
  const abort = () => child.kill('SIGKILL')
  signal.addEventListener('abort', abort)
  const closed = once(child, 'close')
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearTimeout(limit)
  signal.removeEventListener('abort', abort)
  // For the rest of the output. A process that the file left behind may hold it open.
  await Promise.race([closed, pause(LAST_OUTPUT_MS, undefined, { ref: false })])
  const isReported = outcome.passed + outcome.failed > 0
  if (code !== 0 || !isReported) {
    outcome.failed += 1
    chunks.push(Buffer.from(`  the file itself failed: it ended with ${killedBy ?? `exit code ${code}`}\n`))
  }
  const seconds = (performance.now() - startedAt) / 1000
  return { ...outcome, file, seconds, output: Buffer.concat(chunks).toString('utf8') }
}
