import { FolderInUse, WrongPassword } from '@gatehouse/local-servers'

export function explainDatabaseError(error: unknown, dataFolder: string): string {
  if (error instanceof FolderInUse) return `${error.message}; stop it or choose another folder`
  const { message, cause } = error as Error
  if (cause instanceof WrongPassword) {
    return `the database in ${dataFolder} was made with other secrets; put its secrets.json back or choose another folder`
  }
  return `cannot run the database in ${dataFolder}: ${message}`
}
