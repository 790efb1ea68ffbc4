import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createEncryptionKey, createSigningKeys, type EncryptionKey } from '@gatehouse/auth'
import { replicasOfServices, serviceNames, urlVariable } from '@gatehouse/contracts'
import { connectDatabase, migrateDatabase, prepareDatabase, requireKnownSchema } from '@gatehouse/database'
import { systemClock } from '@gatehouse/runtime'
import {
  configure,
  ConfigurationError,
  publicAddress,
  readVariables,
  settings,
  uploadConfig,
  uploadSettings,
} from '@gatehouse/service-kit'
import { z } from 'zod'
import { callService, callSocket, findRunningInstance, type OperatorCall } from '../calls/operator-calls.ts'
import type { KeptSecrets } from './archive/secrets-file.ts'
import { CommandFailure } from './failure.ts'
import type { Environment } from './invocation.ts'
import type { UploadPlace } from './upload-staging.ts'

const namesOfDistributed = ['DATABASE_URL', 'DATABASE_URL_FILE', ...serviceNames.map(urlVariable)]

export const isDistributed = (environment: Environment): boolean => namesOfDistributed.some((name) => environment[name])

export const namesUploads = (environment: Environment): boolean =>
  ['UPLOAD_DIR', 'UPLOAD_STORE', 'UPLOAD_STORE_FILE'].some((name) => environment[name])

const isDataFolder = (folder: string): boolean => existsSync(join(folder, 'secrets.json'))

/** `npm run cluster` has a folder of its own in the data folder. */
export function dataFolderOf(environment: Environment): string {
  const folder = resolve(environment['GATEHOUSE_DATA'] || '.gatehouse')
  const ofCluster = join(folder, 'cluster')
  return !isDataFolder(folder) && isDataFolder(ofCluster) ? ofCluster : folder
}

/** By HTTP with the URLs of services and OPERATOR_SECRET, else by the socket in the data folder. Throws CommandFailure. */
export function connectInstance(environment: Environment) {
  if (!isDistributed(environment)) return (call: OperatorCall) => callSocket(dataFolderOf(environment), call)
  const urls = z.object(kindsOf(...serviceNames.map(urlVariable))).partial()
  const shape = { ...kindsOf('OPERATOR_SECRET'), ...urls.shape }
  const values = configured(() => readVariables(environment, shape))
  const deps = {
    services: replicasOfServices(values),
    keys: createSigningKeys('operator', values.OPERATOR_SECRET),
    clock: systemClock,
  }
  return (call: OperatorCall) => callService(deps, call)
}

/** For `readVariables`. */
export function kindsOf<N extends keyof typeof settings>(...names: N[]) {
  type Kinds = { [Name in N]: (typeof settings)[Name]['kind'] }
  return Object.fromEntries(names.map((name) => [name, settings[name].kind])) as Kinds
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

type OpenInstance = AsyncDisposable &
  UploadPlace & {
    databaseUrl: string
    encryptionSecret?: string | undefined
    previousEncryptionSecrets: readonly string[]
    /** Null where the environment does not hold them. */
    secrets: KeptSecrets | null
  }

/** No service runs, and the schema is up to date. */
type StoppedInstance = OpenInstance & {
  domain: string
  /** Null for a distributed instance, whose secrets are the operator's files. */
  keepSecrets: ((secrets: KeptSecrets) => Promise<void>) | null
}

/**
 * Through the socket while an embedded instance runs. `isReader`: the schema of a stopped one stays as it is too. Throws
 * CommandFailure, InstanceUnreachable and DatabaseUnavailable.
 */
export async function openPresentDatabase(environment: Environment, { isReader = false } = {}): Promise<OpenInstance> {
  const nothingToClose = { [Symbol.asyncDispose]: async () => undefined }
  if (isDistributed(environment)) {
    const instance = readDistributed(environment)
    await withDatabase(instance.databaseUrl, requireKnownSchema)
    return { ...instance, ...nothingToClose }
  }
  requireInstance(dataFolderOf(environment))
  const running = await findRunningInstance(dataFolderOf(environment))
  if (!running) return await openStoppedInstance(environment, { isReader })
  return { ...running, encryptionSecret: running.secrets.encryptionSecret, ...nothingToClose }
}

/** Throws CommandFailure. Contract: 8, ENCRYPTION_SECRET. */
export function encryptionKeyOf({ encryptionSecret, previousEncryptionSecrets }: OpenInstance): EncryptionKey {
  if (encryptionSecret) return createEncryptionKey(encryptionSecret, previousEncryptionSecrets)
  throw new CommandFailure('usage', 'ENCRYPTION_SECRET: set it as the services have it')
}

/** An embedded instance's PostgreSQL under the lock of its data folder, or DATABASE_URL. Throws CommandFailure while it runs, and DatabaseUnavailable. */
export async function openStoppedInstance(
  environment: Environment,
  { isReader = false } = {},
): Promise<StoppedInstance> {
  await using opening = new AsyncDisposableStack()
  const instance = isDistributed(environment) ? readDistributed(environment) : await openEmbedded(environment, opening)
  const { databaseUrl } = instance
  // The roles of services are the operator's.
  if (isReader) await withDatabase(databaseUrl, requireKnownSchema)
  else await (instance.keepSecrets ? prepareDatabase(databaseUrl) : withDatabase(databaseUrl, migrateDatabase))
  const open = opening.move()
  return { ...instance, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Opening another folder would make a new instance there. Throws CommandFailure. */
export function requireInstance(dataFolder: string): void {
  if (isDataFolder(dataFolder)) return
  throw new CommandFailure('unknown', `no instance in ${dataFolder}: set GATEHOUSE_DATA to its data folder`)
}

type Orm = Awaited<ReturnType<typeof connectDatabase>>

export async function withDatabase<T>(url: string, work: (orm: Orm) => Promise<T>): Promise<T> {
  const orm = await connectDatabase({ url, applicationName: 'gatehouse-operator' })
  return await work(orm).finally(() => orm.close())
}

/** Throws CommandFailure. */
export function readDistributed(environment: Environment) {
  const shape = {
    ...kindsOf('PORT', 'PUBLIC_ORIGIN', 'DOMAIN', 'DATABASE_URL', 'ENCRYPTION_SECRET_PREVIOUS'),
    JWT_SECRET: settings.JWT_SECRET.embedded,
    INTERNAL_SECRET: settings.INTERNAL_SECRET.embedded,
    ENCRYPTION_SECRET: settings.ENCRYPTION_SECRET.embedded,
    ...uploadSettings,
  }
  return configured(() =>
    configure(environment, shape, (values, part) => {
      const { JWT_SECRET: jwtSecret, INTERNAL_SECRET: internalSecret, ENCRYPTION_SECRET: encryptionSecret } = values
      const isComplete = jwtSecret && internalSecret && encryptionSecret
      return {
        databaseUrl: values.DATABASE_URL,
        ...part((valid) => uploadConfig(valid, dataFolderOf(environment))),
        encryptionSecret,
        previousEncryptionSecrets: values.ENCRYPTION_SECRET_PREVIOUS,
        secrets: isComplete ? { jwtSecret, internalSecret, encryptionSecret } : null,
        domain: part((valid) => publicAddress(valid).domain),
        keepSecrets: null,
      }
    }),
  )
}

/** Imported here, because the image has no PostgreSQL. */
async function openEmbedded(environment: Environment, opening: AsyncDisposableStack) {
  const { readConfig } = await import('../embedded/config.ts')
  const { explainDatabaseError, replaceSecrets } = await import('../embedded/data-folder.ts')
  const { startPersistentPostgres } = await import('@gatehouse/local-servers')
  const config = configured(() => readConfig(environment))
  const { dataFolder, databasePassword: password, uploadDir, uploadStore, publicAddress: address } = config
  const { jwtSecret, internalSecret, encryptionSecret, previousEncryptionSecrets = [] } = config
  const ofCluster = join(dataFolder, 'postgres')
  const folder = existsSync(ofCluster) ? ofCluster : join(dataFolder, 'database')
  try {
    const { url } = opening.use(await startPersistentPostgres({ folder, password }))
    return {
      databaseUrl: url,
      uploadDir,
      uploadStore,
      encryptionSecret,
      previousEncryptionSecrets,
      secrets: { jwtSecret, internalSecret, encryptionSecret },
      domain: address.domain,
      keepSecrets: async (secrets: KeptSecrets) => replaceSecrets(dataFolder, secrets),
    }
  } catch (cause) {
    throw new CommandFailure('refused', explainDatabaseError(cause, dataFolder), cause)
  }
}
