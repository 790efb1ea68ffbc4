import {
  networkVariables,
  publicAddress,
  publicVariables,
  readVariables,
  variables,
  type PublicAddress,
} from '@gatehouse/service-kit'

export type InviteConfig = {
  host: string
  port: number
  internalSecret: string
  publicAddress: PublicAddress
}

const { DATABASE_URL, NATS_URL, INTERNAL_SECRET, LOG_LEVEL } = networkVariables
const shape = {
  DATABASE_URL,
  NATS_URL,
  INTERNAL_SECRET,
  LOG_LEVEL,
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
    publicAddress: publicAddress(given),
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    postgres: { url: given.DATABASE_URL },
    nats: { url: given.NATS_URL },
  }
  return { config, resources }
}
