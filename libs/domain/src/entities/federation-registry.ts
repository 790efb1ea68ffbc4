import type { registryReply } from '@gatehouse/contracts'
import { defineEntity, p } from '@mikro-orm/core'
import type { z } from 'zod'

type Registry = z.infer<typeof registryReply>['registry']

const FederationRegistrySchema = defineEntity({
  name: 'FederationRegistry',
  tableName: 'federation_registries',
  properties: {
    userId: p.bigint('string').primary().autoincrement(false),
    entries: p.json().$type<Registry>(),
    /** Milliseconds since the epoch, from the client. Only rises. */
    updatedAt: p.bigint('number'),
  },
})

/** Contract: 7; federation-wire.md 5. */
export class FederationRegistry extends FederationRegistrySchema.class {}
FederationRegistrySchema.setClass(FederationRegistry)
export { FederationRegistrySchema }
