import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram, missingProgram } from './find-program.js'
import { readFirstBytes, startServer, type LocalServer } from './server-process.ts'
import { createScratchFolder, removeFolder } from './scratch-folder.ts'

/** Data are lost at `stop` and `kill`. */
export async function startRedis(
  options: { config?: string; port?: number; isSentinel?: boolean } = {},
): Promise<LocalServer> {
  const file = findProgram('redis-server')
  if (!file) throw new Error(missingProgram('redis-server'))
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('redis'), removeFolder)
  const configFile = join(folder, 'redis.conf')
  await writeFile(configFile, options.config ?? '')
  const mode = options.isSentinel ? ['--sentinel'] : []
  const persistence = options.isSentinel ? [] : ['--save', '', '--appendonly', 'no']
  const flags = ['--bind', '127.0.0.1', ...persistence, '--dir', folder]
  return await startServer({
    name: 'redis-server',
    folder,
    port: options.port,
    command: (port) => ({ file, args: [configFile, ...mode, '--port', String(port), ...flags] }),
    url: (port) => `redis://127.0.0.1:${port}`,
    // A server that requires a password is ready too.
    isReady: async (port) => /^(\+PONG|-NOAUTH)/.test(await readFirstBytes(port, 'PING\r\n')),
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGKILL',
    resources: opening.move(),
  })
}
