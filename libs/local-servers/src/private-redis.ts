import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answerOnPort } from './answer-on-port.ts'
import { findProgram, missingProgram } from './find-program.js'
import type { PrivateServer } from './private-server.ts'
import { startServer } from './server-process.ts'
import { createWorkFolder } from './work-folder.ts'

/**
 * A Redis server of one's own that keeps nothing: after `stop` or `kill` it starts empty. `config` adds lines of Redis
 * configuration.
 */
export async function privateRedis(options: { config?: string } = {}): Promise<PrivateServer> {
  const file = findProgram('redis-server')
  if (!file) throw new Error(missingProgram('redis-server'))
  const folder = await createWorkFolder('redis')
  const configFile = join(folder, 'redis.conf')
  await writeFile(configFile, options.config ?? '')
  const flags = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  return startServer({
    name: 'redis-server',
    folder,
    command: (port) => ({ file, args: [configFile, '--port', String(port), ...flags] }),
    url: (port) => `redis://127.0.0.1:${port}`,
    // One that asks for a password answers too.
    isReady: async (port) => /^(\+PONG|-NOAUTH)/.test(await answerOnPort(port, 'PING\r\n')),
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGKILL',
  })
}
