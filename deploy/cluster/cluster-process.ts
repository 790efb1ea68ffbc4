import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { ManagedProcess } from '@gatehouse/local-servers'
import { programArguments } from '../../tools/setup/build-programs.js'
import { portVariables, type Endpoint } from './endpoints.ts'
import { openLogView, type LogViewMode } from './log-view.ts'
import { entrypoints, type Role } from './roles.ts'

type Options = {
  endpoint: Endpoint
  environment: Record<string, string>
  /** Asked at each start. */
  root: () => string
  log: { mode: LogViewMode; file: string; colorIndex: number }
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

  constructor({ endpoint, environment, root, log }: Options) {
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
      spawn() {
        const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
        const { file, flags } = entrypoints[role]
        const tree = root()
        const program = tree === projectRoot ? programArguments(file) : [resolve(tree, file)]
        const args = ['--disable-warning=ExperimentalWarning', ...flags, ...program]
        const child = spawn(process.execPath, args, {
          cwd: tree,
          env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment, ...portVariables(endpoint) },
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
