import { defineEntity, p } from '@mikro-orm/core'

const UploadSchema = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  properties: {
    filename: p.text().primary(),
    userId: p.bigint('string'),
    size: p.integer(),
    mimetype: p.text(),
    createdAt: p.datetime(),
    /** Set when a profile names the file; one that nobody claims within a day is removed. Contract: 3, uploads. */
    claimedAt: p.datetime().nullable(),
  },
})

export class Upload extends UploadSchema.class {}
UploadSchema.setClass(Upload)
export { UploadSchema }
