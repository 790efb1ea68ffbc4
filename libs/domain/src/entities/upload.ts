import { p, type InferEntity } from '@mikro-orm/core'
import { defineTable } from './table.ts'

export const Upload = defineTable('Upload', 'uploads', {
  filename: p.text().primary(),
  /** Null: the instance's. */
  userId: p.bigint('string').nullable(),
  size: p.integer(),
  mimetype: p.text(),
  createdAt: p.datetime(),
  /** Unclaimed uploads last a day. Contract: 3, uploads. */
  claimedAt: p.datetime().nullable(),
})

/** Recorded with the deletion of the file's row, so that a crash loses no removal. Design: invariant 4. */
export const FileRemoval = defineTable('FileRemoval', 'file_removals', {
  id: p.bigint('string').primary().generated('identity'),
  filename: p.text(),
  createdAt: p.datetime(),
})
export type FileRemoval = InferEntity<typeof FileRemoval>
