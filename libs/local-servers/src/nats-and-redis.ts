import { join } from 'node:path'
import { readFirstBytes, startConfiguredServer, type LocalServer } from './server-process.ts'

/** `config` is added to its configuration. Streams stay only with a `folder`. */
export function startNats(options: { config?: string; folder?: string; port?: number } = {}): Promise<LocalServer> {
  const { config = '', ...rest } = options
  return startConfiguredServer({
    ...rest,
    program: 'nats-server',
    config: () => config,
    args: (port, folder, configFile) => {
      return ['-c', configFile, '-js', '-sd', join(folder, 'store'), '-a', '127.0.0.1', '-p', String(port)]
    },
    url: (port) => `nats://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port)).startsWith('INFO '),
  })
}

/** Data are lost at `stop` and `kill`. */
export function startRedis(options: { config?: string; port?: number; isSentinel?: boolean } = {}) {
  const { config = '', port: preferredPort, isSentinel } = options
  const ofKind = isSentinel ? ['--sentinel'] : ['--save', '', '--appendonly', 'no']
  return startConfiguredServer({
    program: 'redis-server',
    port: preferredPort,
    config: () => config,
    args: (port, folder, configFile) => {
      return [configFile, ...ofKind, '--bind', '127.0.0.1', '--dir', folder, '--port', String(port)]
    },
    url: (port) => `redis://127.0.0.1:${port}`,
    // A server that requires a password is ready too.
    isReady: async (port) => /^(\+PONG|-NOAUTH)/.test(await readFirstBytes(port, 'PING\r\n')),
  })
}
