import { createHmac } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { sessionTimeouts } from './policy.ts'

/** The services that use the database: each connects as a role of its own, with the grants of grants.ts. */
export const databaseServices = ['identity', 'invite', 'session-gateway', 'federation-fanout'] as const
export type DatabaseService = (typeof databaseServices)[number]

/** Also all services in one process, whose role is a member of theirs. */
export type DatabaseClient = DatabaseService | 'embedded'

/** The database role of a service: `gatehouse_session_gateway`. deploy/make-secrets.sh creates the same names. */
export function roleOf(client: DatabaseClient): string {
  return `gatehouse_${client.replaceAll('-', '_')}`
}

/** The URL with which a service connects as its role, where `createRoles` made the roles. */
export function urlForRole(ownerUrl: string, client: DatabaseClient): string {
  const url = new URL(ownerUrl)
  url.username = roleOf(client)
  url.password = passwordOf(ownerUrl, client)
  return url.href
}

/**
 * Derived from the owner's, so that it need not be kept, and a service that knows its own finds no other. Empty where the
 * server asks for none.
 */
function passwordOf(ownerUrl: string, client: DatabaseClient): string {
  const ownPassword = decodeURIComponent(new URL(ownerUrl).password)
  return ownPassword && createHmac('sha256', ownPassword).update(roleOf(client)).digest('base64url')
}

/**
 * Creates the roles that the server does not have, on a server of this instance's own; `ownerUrl` is that of `em`, which
 * needs a role that may create roles. Roles belong to the server and not to one database: several callers at once are
 * safe. The grants come with `migrateDatabase`. See docs/decisions/database-roles.md.
 */
export async function createRoles(em: EntityManager, ownerUrl: string): Promise<void> {
  for (const client of [...databaseServices, 'embedded'] as const) {
    const role = roleOf(client)
    const password = passwordOf(ownerUrl, client)
    const timeouts = Object.entries(sessionTimeouts).map(([name, ms]) => `alter role ${role} set ${name} = ${ms};`)
    const membership = client === 'embedded' ? `grant ${databaseServices.map(roleOf).join(', ')} to ${role};` : ''
    // Only the call that creates the role alters it: two that alter one role at once fail.
    await em.execute(`do $$ begin
      if exists (select from pg_roles where rolname = '${role}') then return; end if;
      create role ${role} login ${password && `password '${password}'`};
      ${timeouts.join('\n')}
      ${membership}
    exception when duplicate_object or unique_violation then null;
    end $$`)
  }
}

/** The services whose role the server does not have: they can only run as another role. */
export async function listServicesWithoutRole(em: EntityManager): Promise<DatabaseService[]> {
  const rows = await em.execute<{ rolname: string }[]>('select rolname from pg_roles')
  const roles = new Set(rows.map(({ rolname }) => rolname))
  return databaseServices.filter((service) => !roles.has(roleOf(service)))
}
