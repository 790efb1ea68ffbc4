import { z } from 'zod'

/** What the first member says: enough to know whether this program can restore it. */
export const archiveHeader = z.object({
  format: z.literal('gatehouse-backup'),
  formatVersion: z.literal(1),
  /** Of the program that made it. */
  version: z.string(),
  createdAt: z.number(),
  migrations: z.array(z.string()),
})
export type ArchiveHeader = z.infer<typeof archiveHeader>

/** The last member: an archive without it was cut. */
export const archiveManifest = z.object({
  tables: z.record(z.string(), z.object({ columns: z.array(z.string()), rows: z.number().int() })),
  sequences: z.record(z.string(), z.object({ value: z.string(), isCalled: z.boolean() })),
  files: z.number().int(),
  /** Files that rows named and that were gone when they were read. */
  missingFiles: z.number().int(),
  /** The SHA-256 of every other member, in hexadecimal. */
  checksums: z.record(z.string(), z.string()),
})
export type ArchiveManifest = z.infer<typeof archiveManifest>

export const memberNames = {
  header: 'header.json',
  manifest: 'manifest.json',
  /** A table is cut into parts, so that no part needs much memory and each has a known size. */
  tablePart: (table: string, part: number) => `database/${table}/${String(part).padStart(8, '0')}`,
  upload: (name: string) => `uploads/${name}`,
}
export const partBytes = 4 * 1024 * 1024

/** Tables of the moment: what they hold means nothing to another process. */
export const volatileTables: ReadonlySet<string> = new Set(['session_nodes', 'presences', 'federation_limits'])
export const migrationTable = 'mikro_orm_migrations'
