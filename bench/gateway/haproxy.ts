import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireProgram } from '@gatehouse/local-servers'
import { eventually, freePort } from '@gatehouse/test-kit'
import { cpuOf, residentMegabytes, type Child } from './child.ts'

/** HAProxy with a JWT check and no look at the account. */
export async function startHaproxy(settings: { UPSTREAM: string; JWT_SECRET: string }): Promise<Child> {
  const port = await freePort()
  const file = join(mkdtempSync(join(tmpdir(), 'gatehouse-haproxy-')), 'haproxy.cfg')
  writeFileSync(file, configuration(port, settings))
  const child = spawn(requireProgram('haproxy'), ['-db', '-f', file], { stdio: 'ignore' })
  await eventually('HAProxy answers', async () => (await fetch(`http://127.0.0.1:${port}/`)).status === 401)
  return {
    port,
    process: child,
    cpuSeconds: () => cpuOf(child.pid!),
    megabytes: () => residentMegabytes(child.pid!),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

const configuration = (port: number, { UPSTREAM, JWT_SECRET }: { UPSTREAM: string; JWT_SECRET: string }): string => `
global
  nbthread 1
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend edge
  bind 127.0.0.1:${port}
  http-request set-var(txn.token) http_auth_bearer
  http-request deny deny_status 401 unless { var(txn.token),jwt_header_query('$.alg') -m str HS256 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_verify(HS256,"${JWT_SECRET}") -m int 1 }
  default_backend services
backend services
  http-reuse always
  server upstream ${new URL(UPSTREAM).host}
`
