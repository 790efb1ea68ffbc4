/** In the order of starts: where each listens, and flags of Node. docs/contributing.md, "Add a service". */
export const services = {
  identity: { port: 8081, flags: [] },
  invite: { port: 8082, flags: [] },
  'federation-fanout': { port: 8084, flags: [] },
  openid: { port: 8085, flags: [] },
  // Sockets live long: bench/NOTES.md.
  'session-gateway': { port: 8083, flags: ['--max-semi-space-size=16'] },
} as const satisfies Record<string, { port: number; flags: readonly string[] }>
export type ServiceName = keyof typeof services

export const serviceNames = Object.keys(services) as readonly ServiceName[]

type Prefix<N extends string> = N extends `${infer A}-${infer B}` ? `${Uppercase<A>}_${Prefix<B>}` : Uppercase<N>
export type ServiceVariable<S extends ServiceName, Suffix extends 'URL' | 'PORT'> = `${Prefix<S>}_${Suffix}`

/** The first part of the names of its variables: `SESSION_GATEWAY` of `session-gateway`. */
export const variablePrefix = <N extends string>(name: N) => name.toUpperCase().replaceAll('-', '_') as Prefix<N>

export const urlVariable = (service: ServiceName) => `${variablePrefix(service)}_URL` as const

type Urls = Partial<Record<ServiceVariable<ServiceName, 'URL'>, string | undefined>>

/** The replicas of each by the `<NAME>_URL` given, separated by commas. */
export function replicasOfServices(urls: Urls) {
  const replicas = serviceNames.map((name) => [name, urls[urlVariable(name)]?.split(',').filter(Boolean) ?? []])
  return Object.fromEntries(replicas) as Record<ServiceName, string[]>
}
