import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  federationVariables,
  networkVariables,
  publicAddress,
  publicVariables,
  readFederation,
  readTracing,
  readVariables,
  tracingVariables,
  variables,
  type FederationReach,
  type PublicAddress,
} from '@gatehouse/service-kit'

export type IdentityConfig = {
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
  /** As in JWT_EXPIRES_IN: `30d`. */
  jwtExpiresIn: string
  /** The default while the settings have no value. Spec: Registration 3. */
  registrationOpen: boolean
  publicAddress: PublicAddress
  reach: FederationReach
  uploadDir: string
  /** Hashing threads, and how many passwords may wait for them. */
  hashing: { threads: number; queue: number }
}

const shape = {
  ...networkVariables,
  ...tracingVariables,
  ...publicVariables,
  ...federationVariables,
  HOST: variables.text('0.0.0.0'),
  IDENTITY_PORT: variables.port(8081),
  JWT_SECRET: variables.secret('signs the tokens'),
  JWT_SECRET_PREVIOUS: variables.previousSecrets(),
  JWT_EXPIRES_IN: variables.duration('30d'),
  REGISTRATION_OPEN: variables.flag(true),
  GATEHOUSE_DATA: variables.text('.gatehouse'),
  UPLOAD_DIR: variables.text(''),
  HASHING_THREADS: variables.count(availableParallelism(), { max: 256 }),
  HASHING_QUEUE: variables.count(100),
}

/** Reads the environment of a distributed identity service. Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readVariables(environment, shape)
  const config: IdentityConfig = {
    host: given.HOST,
    port: given.IDENTITY_PORT,
    internalSecret: given.INTERNAL_SECRET,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    jwtSecret: given.JWT_SECRET,
    previousJwtSecrets: given.JWT_SECRET_PREVIOUS,
    jwtExpiresIn: given.JWT_EXPIRES_IN,
    registrationOpen: given.REGISTRATION_OPEN,
    publicAddress: publicAddress(given),
    reach: readFederation(given),
    uploadDir: given.UPLOAD_DIR || join(given.GATEHOUSE_DATA, 'uploads'),
    hashing: { threads: given.HASHING_THREADS, queue: given.HASHING_QUEUE },
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    ...readTracing(given),
    postgres: { url: given.DATABASE_URL },
    nats: { url: given.NATS_URL },
    redis: { url: given.REDIS_URL },
  }
  return { config, resources }
}
