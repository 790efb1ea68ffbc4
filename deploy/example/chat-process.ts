import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { ManagedProcess } from '@gatehouse/local-servers'

const projectRoot = resolve(import.meta.dirname, '../..')
export const exampleFolder = join(projectRoot, 'examples/chat')

type Options = { port: number; variables: Record<string, string>; restarts: boolean }

export class ChatProcess extends ManagedProcess {
  constructor({ port, variables, restarts }: Options) {
    const recent: string[] = []
    super({
      name: 'examples/chat',
      readyLimitMs: 60_000,
      stopLimitMs: 10_000,
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGTERM',
      restarts,
      isReady: () => answers(`http://127.0.0.1:${port}/api/chat`),
      lastLines: () => recent.join(''),
      spawn() {
        const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
        const args = ['--disable-warning=ExperimentalWarning', join(exampleFolder, 'main.ts')]
        const child = spawn(process.execPath, args, {
          cwd: projectRoot,
          env: { PATH, HOME, NODE_COMPILE_CACHE, ...variables },
          stdio: ['ignore', 'ignore', 'pipe'],
          detached: true,
        })
        child.stderr.on('data', (chunk: Buffer) => {
          process.stderr.write(chunk)
          recent.push(chunk.toString())
          if (recent.length > 20) recent.shift()
        })
        return child
      },
    })
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url)
    await response.text()
    return response.ok
  } catch {
    return false
  }
}
