import type { EntityManager } from '@mikro-orm/postgresql'
import { compareVersions, version } from '@gatehouse/runtime'

/** What the release before this one left, as test/upgrade/released.json has it. */
export const previousRelease = { version: '0.3.0', lastMigration: 'Migration20261205UpstreamDeletions' }

/** A migration that takes something away from an earlier release raises it. */
const oldestProgram = '0.3.0'

export type Schema = {
  isMigrated: boolean
  /** By this role. */
  isReadable: boolean
  applied: readonly string[]
  /** Of the program that migrated last. */
  mark: { release: string; oldestProgram: string } | null
}

/**
 * One line for a schema that this program cannot use, else null. A newer one is used when its release says that it may
 * be: so a replica can restart in a rolling upgrade. Contract: 8, schema; docs/decisions/upgrades.md.
 */
export function findReleaseFault({ applied, mark }: Schema, ownMigrations: readonly string[]): string | null {
  const unknown = applied.filter((name) => !ownMigrations.includes(name))
  if (unknown.length > 0 && !(mark && compareVersions(version, mark.oldestProgram) >= 0)) {
    const by = mark ? `release ${mark.release}` : `a later release (${unknown[0]})`
    return `the schema was migrated by ${by} and is newer than this program (${version}) knows: run that release`
  }
  const { version: previous, lastMigration } = previousRelease
  if (applied.length === 0 || applied.includes(lastMigration)) return null
  return `the schema is more than one release older than this program (${version}): upgrade to ${previous} first`
}

/** For any role, also before the first migration. */
export async function readSchema(em: EntityManager): Promise<Schema> {
  const sql = `select to_regclass('mikro_orm_migrations') is not null as "isMigrated",
       has_table_privilege(to_regclass('mikro_orm_migrations'), 'select') as "isReadable",
       obj_description(to_regclass('mikro_orm_migrations'), 'pg_class') as mark`
  const [table] = await em.execute<{ isMigrated: boolean; isReadable: boolean | null; mark: string | null }[]>(sql)
  const { isMigrated = false, isReadable } = table ?? {}
  const rows = isReadable ? await em.execute<{ name: string }[]>('select name from mikro_orm_migrations') : []
  const [, release, oldest] = /^gatehouse (\S+), for (\S+) and later$/.exec(table?.mark ?? '') ?? []
  const mark = release === undefined || oldest === undefined ? null : { release, oldestProgram: oldest }
  return { isMigrated, isReadable: isReadable === true, applied: rows.map(({ name }) => name), mark }
}

/** The mark is a comment: every role can read it, and it needs no table. */
export async function markSchema(em: EntityManager): Promise<void> {
  const mark = `gatehouse ${version}, for ${oldestProgram} and later`
  await em.execute(`comment on table mikro_orm_migrations is '${mark}'`)
}
