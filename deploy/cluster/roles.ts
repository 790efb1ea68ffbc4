import { serviceNames, services, urlVariable, variablePrefix, type ServiceName } from '@gatehouse/contracts'

/** In the order of starts. */
export type Role = ServiceName | 'gateway'
export const roles: readonly Role[] = [...serviceNames, 'gateway']

/** `file`: from the project's root. */
type Entrypoint = { file: string; flags: readonly string[]; portVariable: string }

function entrypointOf(role: Role): Entrypoint {
  if (role === 'gateway') return { file: 'gateway/src/main.ts', flags: [], portVariable: 'PORT' }
  const { flags } = services[role]
  return { file: `services/${role}/src/main.ts`, flags, portVariable: `${variablePrefix(role)}_PORT` }
}

const named = roles.map((role) => [role, entrypointOf(role)] as const)
export const entrypoints = Object.fromEntries(named) as Record<Role, Entrypoint>

export type Endpoint = { role: Role; index: number; name: string; port: number; opsPort: number }

type Options = { replicas?: Partial<Record<Role, number>>; gatewayPort?: number }
type NextPort = (name: string) => Promise<number>

/** By default one of each role. */
export async function assignEndpoints(options: Options, nextPort: NextPort): Promise<Endpoint[]> {
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
  const urlsOf = (role: Role) =>
    endpoints.filter((endpoint) => endpoint.role === role).map(({ port }) => `http://127.0.0.1:${port}`)
  const ofServices = serviceNames.map((name) => [urlVariable(name), urlsOf(name).join(',')] as const)
  const [origin] = urlsOf('gateway')
  return { ...Object.fromEntries(ofServices), ...(origin && { PUBLIC_ORIGIN: origin }) }
}

export const portVariables = ({ role, port, opsPort }: Endpoint): Record<string, string> => ({
  [entrypoints[role].portVariable]: String(port),
  ...(role === 'gateway' && { OPS_PORT: String(opsPort) }),
})
