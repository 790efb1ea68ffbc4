import { defineEntity, p } from '@mikro-orm/core'

const InstanceSettingsSchema = defineEntity({
  name: 'InstanceSettings',
  tableName: 'instance_settings',
  properties: {
    /** Always 1: there is one row. */
    id: p.integer().primary().autoincrement(false),
    instanceId: p.uuid(),
    instanceName: p.text(),
    /** Null hands the decision to the environment. Spec: Registration 3. */
    registrationOpen: p.boolean().nullable(),
    federatedRegistrationOpen: p.boolean(),
    autoAcceptPeering: p.boolean(),
    /** 0 to 1023, drawn once at first boot; part of every id. Spec: Instance settings. */
    workerId: p.integer(),
    /** The account that became the first admin; set once, under any concurrency. */
    firstAdminId: p.bigint('string').nullable(),
  },
})

export class InstanceSettings extends InstanceSettingsSchema.class {}
InstanceSettingsSchema.setClass(InstanceSettings)
export { InstanceSettingsSchema }
