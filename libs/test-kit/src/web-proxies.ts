import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createScratchFolder,
  readFirstBytes,
  removeFolder,
  requireProgram,
  startServer,
  type LocalServer,
} from '@gatehouse/local-servers'

/** A byte of plain HTTP makes a TLS port answer: an alert, or 400. */
const isListening = async (port: number) => (await readFirstBytes(port, 'GET / HTTP/1.0\r\n\r\n')) !== ''

/** nginx or Caddy with what `configOf` gives for its port and folder. */
export async function startWebProxy(
  name: 'nginx' | 'caddy',
  configOf: (port: number, folder: string) => string,
): Promise<LocalServer> {
  const file = requireProgram(name)
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder(name), removeFolder)
  const config = join(folder, 'config')
  const args = {
    nginx: ['-p', folder, '-c', config, '-e', 'stderr'],
    caddy: ['run', '--config', config, '--adapter', 'caddyfile'],
  }
  return await startServer({
    name,
    folder,
    command: (port) => {
      writeFileSync(config, configOf(port, folder))
      return { file, args: args[name] }
    },
    url: (port) => `https://127.0.0.1:${port}`,
    isReady: isListening,
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGKILL',
    resources: opening.move(),
  })
}
