import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createSigningKeys } from '@gatehouse/auth'
import { ConfigurationError, readVariables, settings } from '@gatehouse/service-kit'
import { callService, type Calls, createSocketCalls } from '../calls/operator-calls.ts'
import { CommandFailure } from './failure.ts'
import type { Environment } from './invocation.ts'

const urlNames = ['IDENTITY_URL', 'INVITE_URL', 'FEDERATION_FANOUT_URL'] as const

export function isDistributed(environment: Environment): boolean {
  return ['DATABASE_URL', 'DATABASE_URL_FILE', ...urlNames].some((name) => environment[name])
}

export function namesUploads(environment: Environment): boolean {
  return ['UPLOAD_DIR', 'UPLOAD_STORE', 'UPLOAD_STORE_FILE'].some((name) => environment[name])
}

export const isDataFolder = (folder: string): boolean => existsSync(join(folder, 'secrets.json'))

/** `npm run cluster` has a folder of its own in the data folder. */
export function dataFolderOf(environment: Environment): string {
  const folder = resolve(environment['GATEHOUSE_DATA'] || '.gatehouse')
  const ofCluster = join(folder, 'cluster')
  return !isDataFolder(folder) && isDataFolder(ofCluster) ? ofCluster : folder
}

/** By HTTP with the URLs of services and OPERATOR_SECRET, else by the socket in the data folder. Throws CommandFailure. */
export function connectInstance(environment: Environment, now: () => number): Calls {
  if (!isDistributed(environment)) return createSocketCalls(dataFolderOf(environment))
  const shape = {
    OPERATOR_SECRET: settings.OPERATOR_SECRET.kind,
    IDENTITY_URL: settings.IDENTITY_URL.kind.optional(),
    INVITE_URL: settings.INVITE_URL.kind.optional(),
    FEDERATION_FANOUT_URL: settings.FEDERATION_FANOUT_URL.kind.optional(),
  }
  const given = configured(() => readVariables(environment, shape))
  const split = (urls = '') => urls.split(',').filter(Boolean)
  const services = {
    identity: split(given.IDENTITY_URL),
    invite: split(given.INVITE_URL),
    'federation-fanout': split(given.FEDERATION_FANOUT_URL),
  }
  const deps = { services, keys: createSigningKeys('operator', given.OPERATOR_SECRET), clock: { now } }
  return { send: (call) => callService(deps, call) }
}

/** Throws CommandFailure with every fault. */
export function configured<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigurationError) throw new CommandFailure('usage', error.message, error)
    throw error
  }
}
