import { join } from 'node:path'
import { FolderInUse, startPersistentPostgres, WrongPassword, type LocalServer } from '@gatehouse/local-servers'
import { ConfigurationError } from '@gatehouse/service-kit/start'

type Options = Omit<Parameters<typeof startPersistentPostgres>[0], 'folder'> & { name?: string }

/** Throws ConfigurationError. */
export async function openPostgres(dataFolder: string, { name = 'database', ...given }: Options): Promise<LocalServer> {
  try {
    return await startPersistentPostgres({ folder: join(dataFolder, name), ...given })
  } catch (cause) {
    throw new ConfigurationError([`GATEHOUSE_DATA: ${explainDatabaseError(cause, dataFolder)}`], { cause })
  }
}

export function explainDatabaseError(error: unknown, dataFolder: string): string {
  if (error instanceof FolderInUse) return `${error.message}; stop it or choose another folder`
  const { message, cause } = error as Error
  if (cause instanceof WrongPassword) {
    return `the database in ${dataFolder} was made with other secrets; put its secrets.json back or choose another folder`
  }
  return `cannot run the database in ${dataFolder}: ${message}`
}
