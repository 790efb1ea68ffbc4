import { z } from 'zod'

export const archiveHeader = z.object({
  format: z.literal('gatehouse-backup'),
  formatVersion: z.literal(1),
  version: z.string(),
  createdAt: z.number(),
  migrations: z.array(z.string()),
})
export type ArchiveHeader = z.infer<typeof archiveHeader>

/** The last member. An archive without it was cut. */
export const archiveManifest = z.object({
  tables: z.record(z.string(), z.object({ columns: z.array(z.string()), rows: z.number().int() })),
  sequences: z.record(z.string(), z.object({ value: z.string(), isCalled: z.boolean() })),
  files: z.number().int(),
  /** Files that were gone when they were read. */
  missingFiles: z.number().int(),
  /** The SHA-256 of every other member. */
  checksums: z.record(z.string(), z.string()),
})
export type ArchiveManifest = z.infer<typeof archiveManifest>

export const memberNames = {
  header: 'header.json',
  manifest: 'manifest.json',
  /** Parts bound the memory that a table needs. */
  tablePart: (table: string, part: number) => `database/${table}/${String(part).padStart(8, '0')}`,
  upload: (name: string) => `uploads/${name}`,
}
export const partBytes = 4 * 1024 * 1024

/** Their rows mean nothing to another process. */
export const volatileTables: ReadonlySet<string> = new Set(['session_nodes', 'presences', 'federation_limits'])
export const migrationTable = 'mikro_orm_migrations'
