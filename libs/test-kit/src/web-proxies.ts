import { readFirstBytes, startConfiguredServer, type LocalServer } from '@gatehouse/local-servers'

/** nginx or Caddy with what `config` gives for its port and folder. */
export function startWebProxy(
  program: 'nginx' | 'caddy',
  config: (port: number, folder: string) => string,
): Promise<LocalServer> {
  return startConfiguredServer({
    program,
    config,
    args: (_port, folder, configFile) => {
      const ofNginx = ['-p', folder, '-c', configFile, '-e', 'stderr']
      return program === 'nginx' ? ofNginx : ['run', '--config', configFile, '--adapter', 'caddyfile']
    },
    url: (port) => `https://127.0.0.1:${port}`,
    // A byte of plain HTTP makes a TLS port answer: an alert, or 400.
    isReady: async (port) => (await readFirstBytes(port, 'GET / HTTP/1.0\r\n\r\n')) !== '',
  })
}
