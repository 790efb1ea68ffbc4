import { p } from '@mikro-orm/core'
import { defineTable } from './table.ts'

const UploadSchema = defineTable('Upload', 'uploads', {
  filename: p.text().primary(),
  /** Null: the instance's. */
  userId: p.bigint('string').nullable(),
  size: p.integer(),
  mimetype: p.text(),
  createdAt: p.datetime(),
  /** Unclaimed uploads last a day. Contract: 3, uploads. */
  claimedAt: p.datetime().nullable(),
})

export class Upload extends UploadSchema.class {}
UploadSchema.setClass(Upload)

/** Design: invariant 4. */
const FileRemovalSchema = defineTable('FileRemoval', 'file_removals', {
  id: p.bigint('string').primary().generated('identity'),
  filename: p.text(),
  createdAt: p.datetime(),
})

export class FileRemoval extends FileRemovalSchema.class {}
FileRemovalSchema.setClass(FileRemoval)
