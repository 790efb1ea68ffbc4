import { serviceNames, services, variablePrefix, type ServiceName } from '@gatehouse/contracts'

/** In the order of starts. */
export type Role = ServiceName | 'gateway'
export const roles: readonly Role[] = [...serviceNames, 'gateway']

type Entrypoint = {
  /** From the project's root. */
  file: string
  flags: readonly string[]
  portVariable: string
  /** Null for the gateway. */
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
