/** In the order of starts: where each listens, and flags of Node. docs/contributing.md, "A service". */
export const services = {
  identity: { port: 8081, flags: [] },
  invite: { port: 8082, flags: [] },
  'federation-fanout': { port: 8084, flags: [] },
  // Sockets live long: docs/decisions/garbage-collection.md.
  'session-gateway': { port: 8083, flags: ['--max-semi-space-size=16'] },
} as const satisfies Record<string, { port: number; flags: readonly string[] }>
export type ServiceName = keyof typeof services

export const serviceNames = Object.keys(services) as readonly ServiceName[]

/** The first part of the names of its variables: `SESSION_GATEWAY` of `session-gateway`. */
export const variablePrefix = (name: string): string => name.toUpperCase().replaceAll('-', '_')
