import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

export type FileReport = { file: string; passed: number; failed: number; seconds: number; output: string }

type Counts = Pick<FileReport, 'passed' | 'failed'>

type Options = {
  files: readonly string[]
  env: NodeJS.ProcessEnv
  reporter: string
  signal: AbortSignal
  /** For each file. */
  limitMs?: number
  onReport(report: FileReport): void
}

const lastOutputMs = 1_000

/** In one process. A file that does not load, crashes or exceeds its limit is one failed test; the next get a new process. */
export async function runTestFiles({ files, ...options }: Options): Promise<void> {
  for (let next = 0; next < files.length && !options.signal.aborted;)
    next += await runInProcess(files.slice(next), options)
}

/** Gives how many files have run, at least one. */
async function runInProcess(files: readonly string[], options: Omit<Options, 'files'>): Promise<number> {
  const { env, reporter, signal, limitMs = 420_000, onReport } = options
  const args = [reporter, ...files.map((file) => resolve(file))]
  const child = fork(resolve(import.meta.dirname, 'mocha-process.ts'), args, { env, silent: true })
  const waiting = [...files]
  let last = undefined as FileReport | undefined
  const chunks: Buffer[] = []
  const takeOutput = (): string => Buffer.concat(chunks.splice(0)).toString('utf8')
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  let startedAt = performance.now()
  const limit = limitTime(limitMs)
  const stop = AbortSignal.any([signal, limit.exceeded])
  stop.addEventListener('abort', () => child.kill('SIGKILL'))

  function report(counts: Counts): void {
    const now = performance.now()
    // Nothing has thrown after its last test.
    if (last) onReport(last)
    last = { file: waiting.shift() ?? '', ...counts, seconds: (now - startedAt) / 1000, output: takeOutput() }
    startedAt = now
    limit.restart()
  }
  child.on('message', (counts) =>
    setImmediate(() => {
      report(counts as Counts)
      child.send('noted', () => undefined)
    }),
  )

  const closed = once(child, 'close')
  const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  limit.stop()
  // A child process may hold the output open.
  await Promise.race([closed, pause(lastOutputMs, undefined, { ref: false })])
  await nextTurn()
  const isUnfinished = waiting.length > 0
  if (isUnfinished) report({ passed: 0, failed: 0 })
  if (!last) throw new Error('no test file was given')
  const { passed, failed, output } = last
  const isWhole = code === 0 && !isUnfinished && passed + failed > 0
  const ended = `ended with ${killedBy ?? `exit code ${code}`}`
  const end = limit.exceeded.aborted ? `exceeded its limit of ${limitMs / 1000} s` : ended
  const fault = isWhole ? '' : `\n  the file itself failed: it ${end}\n`
  onReport({ ...last, failed: failed + Number(!isWhole), output: `${output}${takeOutput()}${fault}` })
  return files.length - waiting.length
}

function limitTime(limitMs: number) {
  const limit = new AbortController()
  const timeout = setTimeout(() => limit.abort(), limitMs)
  return { exceeded: limit.signal, restart: () => void timeout.refresh(), stop: () => clearTimeout(timeout) }
}
