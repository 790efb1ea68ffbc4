import {
  federationVariables,
  networkVariables,
  publicAddress,
  publicVariables,
  readFederation,
  type FederationReach,
  type PublicAddress,
  readTracing,
  readVariables,
  tracingVariables,
  variables,
} from '@gatehouse/service-kit'

export type FederationFanoutConfig = {
  host: string
  port: number
  /** How long requests under way may take to end when the service stops, in milliseconds. */
  drainMs?: number
  internalSecret: string
  /** They verify caller tokens and sign none. Contract: 8, INTERNAL_SECRET_PREVIOUS. */
  previousInternalSecrets?: readonly string[]
  publicAddress: PublicAddress
  reach: FederationReach
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
  ...federationVariables,
  HOST: variables.text('0.0.0.0'),
  FEDERATION_FANOUT_PORT: variables.port(8084),
}

/** Reads the environment of a distributed federation-fanout service. Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readVariables(environment, shape)
  const config: FederationFanoutConfig = {
    host: given.HOST,
    port: given.FEDERATION_FANOUT_PORT,
    internalSecret: given.INTERNAL_SECRET,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    publicAddress: publicAddress(given),
    reach: readFederation(given),
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    ...readTracing(given),
    postgres: { url: given.DATABASE_URL },
    nats: { url: given.NATS_URL },
  }
  return { config, resources }
}
