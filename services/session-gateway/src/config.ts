import { networkVariables, readVariables, variables } from '@gatehouse/service-kit'

export type SessionGatewayConfig = {
  host: string
  port: number
  internalSecret: string
  jwtSecret: string
  /** No other session gateway ever runs on this database: nodes of an earlier run are evicted at once. */
  onlyNode?: boolean
}

const { DATABASE_URL, NATS_URL, INTERNAL_SECRET, LOG_LEVEL } = networkVariables
const shape = {
  DATABASE_URL,
  NATS_URL,
  INTERNAL_SECRET,
  LOG_LEVEL,
  HOST: variables.text('0.0.0.0'),
  SESSION_GATEWAY_PORT: variables.port(8083),
  JWT_SECRET: variables.secret('verifies the tokens'),
}

/** Reads the environment of a distributed session gateway. Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readVariables(environment, shape)
  const config: SessionGatewayConfig = {
    host: given.HOST,
    port: given.SESSION_GATEWAY_PORT,
    internalSecret: given.INTERNAL_SECRET,
    jwtSecret: given.JWT_SECRET,
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    postgres: { url: given.DATABASE_URL },
    nats: { url: given.NATS_URL },
  }
  return { config, resources }
}
