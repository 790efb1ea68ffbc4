import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

export type FileReport = {
  file: string
  passed: number
  failed: number
  /** Those that endpoints declare and gave, as `POST /path: code`. */
  refusals: readonly string[]
  seconds: number
  output: string
}

type Result = Pick<FileReport, 'passed' | 'failed' | 'refusals'>

type Options = {
  env: NodeJS.ProcessEnv
  reporter: string
  /** Only tests that contain them. A file may then have none. */
  words?: readonly string[]
  signal: AbortSignal
  /** For each file. */
  limitMs?: number
  onReport(report: FileReport): void
}

const lastOutputMs = 1_000

/**
 * Takes files from the queue, which others may share, and runs them in one process, so that modules load once. A file
 * without tests, or one that does not load, crashes or exceeds its limit, is one failed test. The next ones then get a
 * new process.
 */
export async function runTestFiles(queue: string[], options: Options): Promise<void> {
  while (queue.length > 0 && !options.signal.aborted) await runInProcess(queue, options)
}

/** Takes at least one file. */
async function runInProcess(queue: string[], options: Options): Promise<void> {
  const { env, reporter, words = [], signal, limitMs = 1_200_000 } = options
  const child = fork(resolve(import.meta.dirname, 'mocha-process.ts'), [reporter, ...words], { env, silent: true })
  const record = recordFiles(options, collectOutput(child))
  const limit = limitTime(limitMs)
  const stop = AbortSignal.any([signal, limit.exceeded])
  stop.addEventListener('abort', () => child.kill('SIGKILL'))

  const take = (): string | null => {
    const file = queue.shift()
    if (file === undefined) return null
    record.begin(file)
    limit.restart()
    return resolve(file)
  }
  child.on('message', (result: Result | 'ready') =>
    // What the test file has printed comes by another pipe.
    setImmediate(() => {
      if (result !== 'ready') record.end(result)
      child.send({ file: signal.aborted ? null : take() }, () => undefined)
    }),
  )

  const closed = once(child, 'close')
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  limit.stop()
  // A child process may hold the output open.
  await Promise.race([closed, pause(lastOutputMs, undefined, { ref: false })])
  await nextTurn()
  if (record.isEmpty()) take()
  const ended = `ended with ${killedBy ?? `exit code ${code}`}`
  record.close(limit.exceeded.aborted ? `exceeded its limit of ${limitMs / 1000} s` : ended, code === 0)
}

/** Reports a file when the next one begins: the last one fails when something throws after its last test. */
function recordFiles({ words = [], onReport }: Options, takeOutput: () => string) {
  let startedAt = 0
  let file = undefined as string | undefined
  let last = undefined as FileReport | undefined

  const fail = (report: FileReport, fault: string): FileReport => {
    const output = `${report.output}${takeOutput()}\n  the file itself failed: it ${fault}\n`
    return { ...report, failed: report.failed + 1, output }
  }

  function begin(next: string): void {
    if (last) onReport(last)
    file = next
    startedAt = performance.now()
  }

  function end({ passed, failed, refusals }: Result, fault?: string): void {
    const seconds = (performance.now() - startedAt) / 1000
    last = { file: file ?? '', passed, failed, refusals, seconds, output: takeOutput() }
    if (fault !== undefined) last = fail(last, fault)
    else if (passed + failed === 0 && words.length === 0) last = fail(last, 'has no test')
    file = undefined
  }

  /** `how` the process has ended. */
  function close(how: string, isClean: boolean): void {
    if (file !== undefined) end({ passed: 0, failed: 0, refusals: [] }, how)
    else if (last && !isClean) last = fail(last, how)
    if (last) onReport(last)
  }

  return { begin, end, close, isEmpty: () => file === undefined && last === undefined }
}

function collectOutput(child: ChildProcess): () => string {
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks.splice(0)).toString('utf8')
}

function limitTime(limitMs: number) {
  const limit = new AbortController()
  const timeout = setTimeout(() => limit.abort(), limitMs)
  return { exceeded: limit.signal, restart: () => void timeout.refresh(), stop: () => clearTimeout(timeout) }
}
