import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answerOnPort } from './answer-on-port.ts'
import { findProgram, missingProgram } from './find-program.js'
import type { PrivateServer } from './private-server.ts'
import { startServer } from './server-process.ts'
import { createWorkFolder } from './work-folder.ts'

/**
 * A NATS server with JetStream of one's own. `config` adds lines of NATS configuration (accounts, limits); `folder` keeps
 * its streams beyond this process, else they go with it.
 */
export async function privateNats(options: { config?: string; folder?: string } = {}): Promise<PrivateServer> {
  const file = findProgram('nats-server')
  if (!file) throw new Error(missingProgram('nats-server'))
  const folder = options.folder ?? (await createWorkFolder('nats'))
  await mkdir(folder, { recursive: true })
  const configFile = join(folder, 'nats.conf')
  await writeFile(configFile, options.config ?? '')
  return startServer({
    name: 'nats-server',
    folder,
    isKept: options.folder !== undefined,
    command: (port) => ({
      file,
      args: ['-c', configFile, '-js', '-sd', join(folder, 'store'), '-a', '127.0.0.1', '-p', String(port)],
    }),
    url: (port) => `nats://127.0.0.1:${port}`,
    isReady: async (port) => (await answerOnPort(port)).startsWith('INFO '),
    stopSignal: 'SIGTERM',
    discardSignal: options.folder === undefined ? 'SIGKILL' : 'SIGTERM',
  })
}
