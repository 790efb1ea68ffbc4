/** The kinds of processes, in the order in which they start. */
export const roles = ['identity', 'invite', 'federation-fanout', 'session-gateway', 'gateway'] as const
export type Role = (typeof roles)[number]

/** One process to run: which, and where it listens. */
export type Place = { role: Role; index: number; name: string; port: number; opsPort: number }

/** From the project's root, and the variable of the port each listens on. */
export const mains: Record<
  Role,
  { file: string; portVariable: string; urlVariable: string | null; flags?: readonly string[] }
> = {
  identity: { file: 'services/identity/src/main.ts', portVariable: 'IDENTITY_PORT', urlVariable: 'IDENTITY_URL' },
  invite: { file: 'services/invite/src/main.ts', portVariable: 'INVITE_PORT', urlVariable: 'INVITE_URL' },
  'federation-fanout': {
    file: 'services/federation-fanout/src/main.ts',
    portVariable: 'FEDERATION_FANOUT_PORT',
    urlVariable: 'FEDERATION_FANOUT_URL',
  },
  'session-gateway': {
    file: 'services/session-gateway/src/main.ts',
    portVariable: 'SESSION_GATEWAY_PORT',
    urlVariable: 'SESSION_GATEWAY_URL',
    // Sockets live long: a large young generation only holds memory. Measured: an idle socket took 1.55 times the resident
    // memory of a bare server's before, and less than it with this.
    flags: ['--max-semi-space-size=4'],
  },
  gateway: { file: 'gateway/src/main.ts', portVariable: 'PORT', urlVariable: null },
}

type Wishes = { replicas?: Partial<Record<Role, number>>; gatewayPort?: number }

/** Every process of a cluster with ports of its own; one of each role that `replicas` does not name. */
export async function listPlaces(wishes: Wishes, nextPort: () => Promise<number>): Promise<Place[]> {
  const places: Place[] = []
  for (const role of roles) {
    for (let index = 0; index < (wishes.replicas?.[role] ?? 1); index += 1) {
      const isAsked = role === 'gateway' && wishes.gatewayPort !== undefined
      const port = isAsked ? wishes.gatewayPort! + index : await nextPort()
      // Only the gateway keeps the operator's endpoints away from its public port.
      const opsPort = role === 'gateway' ? await nextPort() : port
      places.push({ role, index, name: `${role}-${index}`, port, opsPort })
    }
  }
  return places
}

/** What tells each process where the others are. */
export function addressesOf(places: readonly Place[]): Record<string, string> {
  const addresses: Record<string, string> = {}
  for (const role of roles) {
    const urls = places.filter((place) => place.role === role).map(({ port }) => `http://127.0.0.1:${port}`)
    const { urlVariable } = mains[role]
    if (urlVariable) addresses[urlVariable] = urls.join(',')
    else if (urls[0]) addresses.PUBLIC_ORIGIN = urls[0]
  }
  return addresses
}

/** What one process gets beside what all of them get. */
export function portsOf({ role, port, opsPort }: Place): Record<string, string> {
  const ports: Record<string, string> = { [mains[role].portVariable]: String(port) }
  if (role === 'gateway') ports.OPS_PORT = String(opsPort)
  return ports
}
