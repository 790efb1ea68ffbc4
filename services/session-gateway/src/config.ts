import { networkVariables, readTracing, readVariables, tracingVariables, variables } from '@gatehouse/service-kit'

export type SessionGatewayConfig = {
  host: string
  port: number
  /** How long requests under way may take to end when the service stops, in milliseconds. */
  drainMs?: number
  internalSecret: string
  /** They verify caller tokens and sign none. Contract: 8, INTERNAL_SECRET_PREVIOUS. */
  previousInternalSecrets?: readonly string[]
  jwtSecret: string
  /** They verify bearer tokens and sign none. Contract: 8, JWT_SECRET_PREVIOUS. */
  previousJwtSecrets?: readonly string[]
  /** No other session gateway ever runs on this database: nodes of an earlier run are evicted at once. */
  onlyNode?: boolean
  /** The path of the file with further services behind the gateway. Contract: 8, GATEHOUSE_UPSTREAMS. */
  upstreamsFile?: string
}

const { DATABASE_URL, NATS_URL, INTERNAL_SECRET, INTERNAL_SECRET_PREVIOUS, LOG_LEVEL } = networkVariables
const shape = {
  DATABASE_URL,
  NATS_URL,
  INTERNAL_SECRET,
  INTERNAL_SECRET_PREVIOUS,
  LOG_LEVEL,
  ...tracingVariables,
  HOST: variables.text('0.0.0.0'),
  SESSION_GATEWAY_PORT: variables.port(8083),
  JWT_SECRET: variables.secret('verifies the tokens'),
  JWT_SECRET_PREVIOUS: variables.previousSecrets(),
  GATEHOUSE_UPSTREAMS: variables.text(''),
}

/** Reads the environment of a distributed session gateway. Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readVariables(environment, shape)
  const config: SessionGatewayConfig = {
    host: given.HOST,
    port: given.SESSION_GATEWAY_PORT,
    internalSecret: given.INTERNAL_SECRET,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    jwtSecret: given.JWT_SECRET,
    previousJwtSecrets: given.JWT_SECRET_PREVIOUS,
    ...(given.GATEHOUSE_UPSTREAMS && { upstreamsFile: given.GATEHOUSE_UPSTREAMS }),
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    ...readTracing(given),
    postgres: { url: given.DATABASE_URL },
    nats: { url: given.NATS_URL },
  }
  return { config, resources }
}
