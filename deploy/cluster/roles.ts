import { serviceNames, services, variablePrefix, type ServiceName } from '@gatehouse/contracts'

/** The kinds of processes, in the order in which a cluster starts them. */
export type Role = ServiceName | 'gateway'
export const roles: readonly Role[] = [...serviceNames, 'gateway']

type Entrypoint = {
  /** From the project's root. */
  file: string
  /** Flags of Node. */
  flags: readonly string[]
  /** The variable of the port that it listens on. */
  portVariable: string
  /** The variable from which the gateway learns the URLs of its replicas; null for the gateway itself. */
  urlVariable: string | null
}

const ofServices = serviceNames.map((name): [Role, Entrypoint] => {
  const prefix = variablePrefix(name)
  const file = `services/${name}/src/main.ts`
  return [name, { file, flags: services[name].flags, portVariable: `${prefix}_PORT`, urlVariable: `${prefix}_URL` }]
})

export const entrypoints = Object.fromEntries([
  ...ofServices,
  ['gateway', { file: 'gateway/src/main.ts', flags: [], portVariable: 'PORT', urlVariable: null }],
]) as Record<Role, Entrypoint>
