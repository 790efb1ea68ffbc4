import { join } from 'node:path'
import {
  commonResources,
  publicAddress,
  readFederation,
  readSettings,
  serviceConfig,
  tokenConfig,
  type FederationReach,
  type PublicAddress,
  type ServiceConfig,
  type TokenConfig,
} from '@gatehouse/service-kit'

export type IdentityConfig = ServiceConfig &
  TokenConfig & {
    jwtExpiresIn: string
    /** While the settings have no value. Spec: Registration 3. */
    registrationOpen: boolean
    publicAddress: PublicAddress
    reach: FederationReach
    uploadDir: string
    hashing: { threads: number; queue: number }
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('identity', environment)
  const config: IdentityConfig = {
    ...serviceConfig(given),
    ...tokenConfig(given),
    port: given.IDENTITY_PORT,
    jwtExpiresIn: given.JWT_EXPIRES_IN,
    registrationOpen: given.REGISTRATION_OPEN,
    publicAddress: publicAddress(given),
    reach: readFederation(given),
    uploadDir: given.UPLOAD_DIR || join(given.GATEHOUSE_DATA, 'uploads'),
    hashing: { threads: given.HASHING_THREADS, queue: given.HASHING_QUEUE },
  }
  const { DATABASE_URL, REDIS_URL } = given
  return {
    config,
    resources: { ...commonResources(given), postgres: { url: DATABASE_URL }, redis: { url: REDIS_URL } },
  }
}
