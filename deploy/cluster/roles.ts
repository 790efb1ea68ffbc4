import { serviceNames, services, variablePrefix, type ServiceName } from '@gatehouse/contracts'

/** In the order of starts. */
export type Role = ServiceName | 'gateway'
export const roles: readonly Role[] = [...serviceNames, 'gateway']

/** `file`: from the project's root. `urlVariable`: null for the gateway. */
type Entrypoint = { file: string; flags: readonly string[]; portVariable: string; urlVariable: string | null }

const ofServices = serviceNames.map((name): [Role, Entrypoint] => {
  const prefix = variablePrefix(name)
  const file = `services/${name}/src/main.ts`
  return [name, { file, flags: services[name].flags, portVariable: `${prefix}_PORT`, urlVariable: `${prefix}_URL` }]
})

export const entrypoints = Object.fromEntries([
  ...ofServices,
  ['gateway', { file: 'gateway/src/main.ts', flags: [], portVariable: 'PORT', urlVariable: null }],
]) as Record<Role, Entrypoint>

export type Endpoint = { role: Role; index: number; name: string; port: number; opsPort: number }

type Options = { replicas?: Partial<Record<Role, number>>; gatewayPort?: number }

/** By default one of each role. */
export async function assignEndpoints(
  options: Options,
  nextPort: (name: string) => Promise<number>,
): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = []
  for (const role of roles) {
    for (let index = 0; index < (options.replicas?.[role] ?? 1); index += 1) {
      const fixedPort = role === 'gateway' ? options.gatewayPort : undefined
      const name = `${role}-${index}`
      const port = fixedPort === undefined ? await nextPort(name) : fixedPort + index
      // A service answers /healthz, /readyz and /metrics on its own port.
      const opsPort = role === 'gateway' ? await nextPort(`${name}-ops`) : port
      endpoints.push({ role, index, name, port, opsPort })
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
