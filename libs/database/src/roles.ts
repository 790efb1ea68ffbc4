import { createHmac } from 'node:crypto'
import { serviceNames, type ServiceName } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'
import { sessionTimeouts } from './policy.ts'

export const databaseServices = serviceNames
export type DatabaseService = ServiceName

/** `embedded`: all services in one process, with a role that is a member of theirs. */
export type DatabaseClient = DatabaseService | 'embedded'

/** deploy/make-secrets.sh creates the same names. */
export function roleOf(client: DatabaseClient): string {
  return `gatehouse_${client.replaceAll('-', '_')}`
}

export function urlForRole(ownerUrl: string, client: DatabaseClient): string {
  const url = new URL(ownerUrl)
  url.username = roleOf(client)
  url.password = passwordOf(ownerUrl, client)
  return url.href
}

/** Derived from the owner's password: it is stored nowhere. Empty where the server asks for none. */
function passwordOf(ownerUrl: string, client: DatabaseClient): string {
  const ownPassword = decodeURIComponent(new URL(ownerUrl).password)
  return ownPassword && createHmac('sha256', ownPassword).update(roleOf(client)).digest('base64url')
}

/** The role of `em` must be allowed to create roles. Parallel calls are safe. docs/decisions/database-roles.md. */
export async function createRoles(em: EntityManager, ownerUrl: string): Promise<void> {
  for (const client of [...databaseServices, 'embedded'] as const) {
    const role = roleOf(client)
    const password = passwordOf(ownerUrl, client)
    const timeouts = Object.entries(sessionTimeouts).map(([name, ms]) => `alter role ${role} set ${name} = ${ms};`)
    const membership = client === 'embedded' ? `grant ${databaseServices.map(roleOf).join(', ')} to ${role};` : ''
    // Two calls that alter one role at once fail.
    await em.execute(`do $$ begin
      if exists (select from pg_roles where rolname = '${role}') then return; end if;
      create role ${role} login ${password && `password '${password}'`};
      ${timeouts.join('\n')}
      ${membership}
    exception when duplicate_object or unique_violation then null;
    end $$`)
  }
}

export async function listServicesWithoutRole(em: EntityManager): Promise<DatabaseService[]> {
  const rows = await em.execute<{ rolname: string }[]>('select rolname from pg_roles')
  const roles = new Set(rows.map(({ rolname }) => rolname))
  return databaseServices.filter((service) => !roles.has(roleOf(service)))
}
