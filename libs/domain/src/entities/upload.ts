import { defineEntity, p } from '@mikro-orm/core'

const UploadSchema = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  properties: {
    filename: p.text().primary(),
    /** Null: the instance's. */
    userId: p.bigint('string').nullable(),
    size: p.integer(),
    mimetype: p.text(),
    createdAt: p.datetime(),
    /** Unclaimed uploads last a day. Contract: 3, uploads. */
    claimedAt: p.datetime().nullable(),
  },
})

export class Upload extends UploadSchema.class {}
UploadSchema.setClass(Upload)

/** Design: invariant 4. */
const FileRemovalSchema = defineEntity({
  name: 'FileRemoval',
  tableName: 'file_removals',
  properties: {
    id: p.bigint('string').primary().generated('identity'),
    filename: p.text(),
    createdAt: p.datetime(),
  },
})

export class FileRemoval extends FileRemovalSchema.class {}
FileRemovalSchema.setClass(FileRemoval)
