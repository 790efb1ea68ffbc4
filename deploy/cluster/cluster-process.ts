import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { styleText } from 'node:util'
import { ManagedProcess } from '@gatehouse/local-servers'
import { systemClock } from '@gatehouse/runtime'
import { portVariables, type Endpoint, entrypoints, type Role } from './roles.ts'
import { createLogFormatter } from '../embedded/pretty-log.ts'
import { programArguments } from '../../tools/setup/build-programs.js'

type Options = {
  endpoint: Endpoint
  /** Asked at each start, as is `root`. */
  environment: () => Record<string, string>
  root: () => string
  /** Run in the place of the role's entrypoint; not from another root. */
  program?: string | undefined
  log: { mode: LogViewMode; file: string; colorIndex: number }
  restarts: boolean
}

export const projectRoot = resolve(import.meta.dirname, '../..')
const readyLimitMs = 120_000
const stopLimitMs = 40_000

export class ClusterProcess extends ManagedProcess {
  readonly service: Role
  readonly index: number
  readonly url: string
  /** /healthz, /readyz and /metrics. */
  readonly opsUrl: string
  readonly recentLog: () => string

  constructor({ endpoint, environment, root, program: replacement, log, restarts }: Options) {
    const { role, index, name, port, opsPort } = endpoint
    const opsUrl = `http://127.0.0.1:${opsPort}`
    const view = openLogView({ name, ...log })
    super({
      name,
      readyLimitMs,
      stopLimitMs,
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      isReady: () => isReady(opsUrl),
      lastLines: view.lastLines,
      restarts,
      onRestarted: (pid) => view.tell(`is up again (process ${pid})`),
      onEnded: (reason) => view.tell(`ended with ${reason}${restarts ? ': it is started again' : ''}`),
      spawn() {
        const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
        const { file, flags } = entrypoints[role]
        const tree = root()
        const program = tree === projectRoot ? programArguments(replacement ?? file) : [resolve(tree, file)]
        const args = ['--disable-warning=ExperimentalWarning', ...flags, ...program]
        const child = spawn(process.execPath, args, {
          cwd: tree,
          env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment(), ...portVariables(endpoint) },
          stdio: ['ignore', 'pipe', 'pipe'],
          detached: true,
        })
        view.follow(child.stdout, child.stderr)
        return child
      },
    })
    this.service = role
    this.index = index
    this.url = `http://127.0.0.1:${port}`
    this.opsUrl = opsUrl
    this.recentLog = view.lastLines
  }
}

async function isReady(opsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl}/readyz`)
    await response.text()
    return response.ok
  } catch {
    return false
  }
}

/** Files get the output in both modes; a terminal gets text, anything else lines of JSON. */
export type LogViewMode = 'silent' | 'pretty'

const colors = [
  ...(['cyan', 'yellow', 'magenta', 'green', 'blue'] as const),
  ...(['cyanBright', 'yellowBright', 'magentaBright', 'greenBright', 'blueBright'] as const),
]
const recentLines = 20

export function openLogView(
  options: { name: string; mode: LogViewMode; file: string; colorIndex: number },
  terminal: Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean } = process.stdout,
) {
  const file = createWriteStream(options.file, { flags: 'a' })
  const recent: string[] = []
  const format = createLogFormatter({ isColored: process.stdout.isTTY })
  const prefix = styleText(colors.at(options.colorIndex % colors.length) ?? 'white', options.name.padEnd(20))
  const show = (line: string): string => {
    if (terminal.isTTY) return format(line).replace(/^(?=.)/gm, `${prefix} `)
    return line.startsWith('{') ? `{"process":"${options.name}",${line.slice(1)}\n` : `${options.name} ${line}\n`
  }
  const write = (line: string): void => {
    file.write(`${line}\n`)
    recent.push(line)
    if (recent.length > recentLines) recent.shift()
    if (options.mode === 'pretty') terminal.write(show(line))
  }
  return {
    follow: (...outputs: Readable[]): void => {
      for (const input of outputs) createInterface({ input }).on('line', write)
    },
    tell: (msg: string): void =>
      write(JSON.stringify({ level: 'warn', time: new Date(systemClock.now()), msg: `${options.name} ${msg}` })),
    lastLines: (): string => recent.join('\n'),
  }
}
