import {
  networkVariables,
  placesOf,
  publicAddress,
  publicVariables,
  type PublicAddress,
  readVariables,
  variables,
} from '@gatehouse/service-kit'

export type InviteConfig = {
  host: string
  port: number
  internalSecret: string
  publicAddress: PublicAddress
}

const shape = {
  ...networkVariables,
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
  return { ...config, places: placesOf(given) }
}
