import {
  networkVariables,
  publicAddress,
  publicVariables,
  readTracing,
  readVariables,
  tracingVariables,
  variables,
  type PublicAddress,
} from '@gatehouse/service-kit'

export type InviteConfig = {
  host: string
  port: number
  /** How long requests under way may take to end when the service stops, in milliseconds. */
  drainMs?: number
  internalSecret: string
  /** They verify caller tokens and sign none. Contract: 8, INTERNAL_SECRET_PREVIOUS. */
  previousInternalSecrets?: readonly string[]
  publicAddress: PublicAddress
}

const { DATABASE_URL, NATS_URL, INTERNAL_SECRET, INTERNAL_SECRET_PREVIOUS, LOG_LEVEL } = networkVariables
const shape = {
  DATABASE_URL,
  NATS_URL,
  INTERNAL_SECRET,
  INTERNAL_SECRET_PREVIOUS,
  LOG_LEVEL,
  ...tracingVariables,
  ...publicVariables,
  HOST: variables.text('0.0.0.0'),
  INVITE_PORT: variables.port(8082),
}

/** Reads the environment of a distributed invite service. Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readVariables(environment, shape)
  const config: InviteConfig = {
    host: given.HOST,
    port: given.INVITE_PORT,
    internalSecret: given.INTERNAL_SECRET,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    publicAddress: publicAddress(given),
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    ...readTracing(given),
    postgres: { url: given.DATABASE_URL },
    nats: { url: given.NATS_URL },
  }
  return { config, resources }
}
