import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { requireProgram } from './find-program.js'
import { readFirstBytes, startServer, type LocalServer } from './server-process.ts'
import { createScratchFolder, removeFolder } from './watchdog.ts'

/** `config` is added to its configuration. Streams stay only with a `folder`. */
export async function startNats(
  options: { config?: string; folder?: string; port?: number } = {},
): Promise<LocalServer> {
  const file = requireProgram('nats-server')
  await using opening = new AsyncDisposableStack()
  const folder = options.folder ?? opening.adopt(await createScratchFolder('nats'), removeFolder)
  await mkdir(folder, { recursive: true })
  const configFile = join(folder, 'nats.conf')
  await writeFile(configFile, options.config ?? '')
  const flags = ['-c', configFile, '-js', '-sd', join(folder, 'store'), '-a', '127.0.0.1']
  return await startServer({
    name: 'nats-server',
    folder,
    port: options.port,
    command: (port) => ({ file, args: [...flags, '-p', String(port)] }),
    url: (port) => `nats://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port)).startsWith('INFO '),
    stopSignal: 'SIGTERM',
    discardSignal: options.folder === undefined ? 'SIGKILL' : 'SIGTERM',
    resources: opening.move(),
  })
}

/** Data are lost at `stop` and `kill`. */
export async function startRedis(
  options: { config?: string; port?: number; isSentinel?: boolean } = {},
): Promise<LocalServer> {
  const file = requireProgram('redis-server')
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('redis'), removeFolder)
  const configFile = join(folder, 'redis.conf')
  await writeFile(configFile, options.config ?? '')
  const ofKind = options.isSentinel ? ['--sentinel'] : ['--save', '', '--appendonly', 'no']
  const flags = [configFile, ...ofKind, '--bind', '127.0.0.1', '--dir', folder]
  return await startServer({
    name: 'redis-server',
    folder,
    port: options.port,
    command: (port) => ({ file, args: [...flags, '--port', String(port)] }),
    url: (port) => `redis://127.0.0.1:${port}`,
    // A server that requires a password is ready too.
    isReady: async (port) => /^(\+PONG|-NOAUTH)/.test(await readFirstBytes(port, 'PING\r\n')),
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGKILL',
    resources: opening.move(),
  })
}
