import { entrypoints, roles, type Role } from './roles.ts'

export type Endpoint = { role: Role; index: number; name: string; port: number; opsPort: number }

type Options = { replicas?: Partial<Record<Role, number>>; gatewayPort?: number }

/** By default one of each role. */
export async function assignEndpoints(options: Options, nextPort: () => Promise<number>): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = []
  for (const role of roles) {
    for (let index = 0; index < (options.replicas?.[role] ?? 1); index += 1) {
      const fixedPort = role === 'gateway' ? options.gatewayPort : undefined
      const port = fixedPort === undefined ? await nextPort() : fixedPort + index
      // A service answers /healthz, /readyz and /metrics on its own port.
      const opsPort = role === 'gateway' ? await nextPort() : port
      endpoints.push({ role, index, name: `${role}-${index}`, port, opsPort })
    }
  }
  return endpoints
}

export function urlVariables(endpoints: readonly Endpoint[]): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const role of roles) {
    const urls = endpoints.filter((endpoint) => endpoint.role === role).map(({ port }) => `http://127.0.0.1:${port}`)
    const { urlVariable } = entrypoints[role]
    if (urlVariable) variables[urlVariable] = urls.join(',')
    else if (urls[0]) variables.PUBLIC_ORIGIN = urls[0]
  }
  return variables
}

export function portVariables({ role, port, opsPort }: Endpoint): Record<string, string> {
  const variables: Record<string, string> = { [entrypoints[role].portVariable]: String(port) }
  if (role === 'gateway') variables.OPS_PORT = String(opsPort)
  return variables
}
