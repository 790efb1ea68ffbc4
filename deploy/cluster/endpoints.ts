import { entrypoints, roles, type Role } from './roles.ts'

/** One process of a cluster and the ports that it listens on. */
export type Endpoint = { role: Role; index: number; name: string; port: number; opsPort: number }

type Options = { replicas?: Partial<Record<Role, number>>; gatewayPort?: number }

/** The endpoints of a cluster: as many of each role as `replicas` says, by default one. */
export async function assignEndpoints(options: Options, nextPort: () => Promise<number>): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = []
  for (const role of roles) {
    for (let index = 0; index < (options.replicas?.[role] ?? 1); index += 1) {
      const fixedPort = role === 'gateway' ? options.gatewayPort : undefined
      const port = fixedPort === undefined ? await nextPort() : fixedPort + index
      // Only the gateway has its health endpoints and metrics on another port than its public one.
      const opsPort = role === 'gateway' ? await nextPort() : port
      endpoints.push({ role, index, name: `${role}-${index}`, port, opsPort })
    }
  }
  return endpoints
}

/** The variables from which each process learns the URLs of the others. */
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

/** The variables of one process's own ports. */
export function portVariables({ role, port, opsPort }: Endpoint): Record<string, string> {
  const variables: Record<string, string> = { [entrypoints[role].portVariable]: String(port) }
  if (role === 'gateway') variables.OPS_PORT = String(opsPort)
  return variables
}
