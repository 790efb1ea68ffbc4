import { networkVariables, placesOf, readVariables, variables } from '@gatehouse/service-kit'
import type { Timings } from './policy.ts'

export type SessionGatewayConfig = {
  host: string
  port: number
  internalSecret: string
  jwtSecret: string
  /** There is never another session gateway beside this one, so what an earlier run left behind is stale at once. */
  onlyNode?: boolean
  timings?: Partial<Timings>
}

const shape = {
  ...networkVariables,
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
  return { ...config, places: placesOf(given) }
}
