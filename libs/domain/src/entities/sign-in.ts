import type { SignInMethod } from '@gatehouse/contracts'
import { defineEntity, p } from '@mikro-orm/core'

const SignInSchema = defineEntity({
  name: 'SignIn',
  tableName: 'sign_ins',
  properties: {
    userId: p.bigint('string').primary(),
    id: p.bigint('string').primary().defaultRaw('next_snowflake()'),
    signedInAt: p.datetime(),
    method: p.text().$type<SignInMethod>(),
    /** A /24 or /48. */
    network: p.text(),
    /** Browser and system. Null: unknown. */
    device: p.text().nullable(),
  },
})

/** Contract: 3, Sign-ins. */
export class SignIn extends SignInSchema.class {}
SignInSchema.setClass(SignIn)
