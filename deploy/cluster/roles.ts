/** The kinds of processes, in the order in which a cluster starts them. */
export const roles = ['identity', 'invite', 'federation-fanout', 'session-gateway', 'gateway'] as const
export type Role = (typeof roles)[number]

type Entrypoint = {
  /** From the project's root. */
  file: string
  /** Flags of Node. */
  flags?: readonly string[]
  /** The variable of the port that it listens on. */
  portVariable: string
  /** The variable from which the gateway learns the URLs of its replicas; null for the gateway itself. */
  urlVariable: string | null
}

export const entrypoints: Record<Role, Entrypoint> = {
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
    // Most of its memory is sockets, which live long: what a larger young generation adds is memory more than speed. See
    // docs/decisions/garbage-collection.md.
    flags: ['--max-semi-space-size=16'],
  },
  gateway: { file: 'gateway/src/main.ts', portVariable: 'PORT', urlVariable: null },
}
