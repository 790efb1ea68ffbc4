import { defineEntity, p } from '@mikro-orm/core'

const InstanceSettingsSchema = defineEntity({
  name: 'InstanceSettings',
  tableName: 'instance_settings',
  properties: {
    id: p.integer().primary().autoincrement(false),
    instanceId: p.uuid(),
    instanceName: p.text(),
    /** Whom people ask who cannot log in. */
    contact: p.text().nullable(),
    description: p.text().nullable(),
    rules: p.text().nullable(),
    accentColor: p.text().nullable(),
    /** An upload without a user. */
    logo: p.text().nullable(),
    /** Null: the environment decides. Spec: Registration 3. */
    registrationOpen: p.boolean().nullable(),
    federatedRegistrationOpen: p.boolean(),
    autoAcceptPeering: p.boolean(),
    stubUpgradesNeedProof: p.boolean().default(false),
    /** Kept in `User.secondFactorDue` of each admin too. */
    requireSecondFactorForAdmins: p.boolean().default(false),
    /** 0 to 1023, drawn at first boot. Spec: Instance settings. */
    workerId: p.integer(),
    /** Set once, under any concurrency. */
    firstAdminId: p.bigint('string').nullable(),
  },
})

export class InstanceSettings extends InstanceSettingsSchema.class {}
InstanceSettingsSchema.setClass(InstanceSettings)
