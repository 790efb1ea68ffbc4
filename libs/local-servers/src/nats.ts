import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram, missingProgram } from './find-program.js'
import { readFirstBytes, startServer, type LocalServer } from './server-process.ts'
import { createScratchFolder, removeFolder } from './scratch-folder.ts'

/** `config` is added to its configuration. Streams stay only with a `folder`. */
export async function startNats(
  options: { config?: string; folder?: string; port?: number } = {},
): Promise<LocalServer> {
  const file = findProgram('nats-server')
  if (!file) throw new Error(missingProgram('nats-server'))
  await using opening = new AsyncDisposableStack()
  const folder = options.folder ?? opening.adopt(await createScratchFolder('nats'), removeFolder)
  await mkdir(folder, { recursive: true })
  const configFile = join(folder, 'nats.conf')
  await writeFile(configFile, options.config ?? '')
  return await startServer({
    name: 'nats-server',
    folder,
    port: options.port,
    command: (port) => ({
      file,
      args: ['-c', configFile, '-js', '-sd', join(folder, 'store'), '-a', '127.0.0.1', '-p', String(port)],
    }),
    url: (port) => `nats://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port)).startsWith('INFO '),
    stopSignal: 'SIGTERM',
    discardSignal: options.folder === undefined ? 'SIGKILL' : 'SIGTERM',
    resources: opening.move(),
  })
}
