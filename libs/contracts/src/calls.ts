import { z } from 'zod'
import { accountState } from './accounts.ts'
import { defineCall } from './define.ts'
import { deleteIdentityBody, resolveStubBody } from './federation.ts'
import { snowflake } from './text.ts'

/** Asks identity to tombstone a federated identity. Refusal: `owns_spaces`. Contract: 7, identity. */
export const deleteFederatedIdentity = defineCall({
  subject: 'call.identity.delete-federated-identity.v1',
  request: deleteIdentityBody,
  reply: z.object({ outcome: z.enum(['deleted', 'absent']) }),
})

/** Asks identity for the live user of an identity, or a new stub. Refusal: `not_found`. Contract: 7, stubs. */
export const resolveReplicatedUser = defineCall({
  subject: 'call.identity.resolve-replicated-user.v1',
  request: resolveStubBody,
  reply: z.object({ id: snowflake, created: z.boolean() }),
})

/** Asks identity to drop origins from a user's replicatedInstances. Contract: 7, fan-out. */
export const forgetReplicatedInstances = defineCall({
  subject: 'call.identity.forget-replicated-instances.v1',
  request: z.object({ userId: snowflake, origins: z.array(z.string()) }),
  reply: z.object({}),
})

/** Asks any process that reaches the cache to store a state there. See docs/decisions: account states. */
export const storeAccountState = defineCall({
  subject: 'call.account-states.store.v1',
  request: accountState,
  reply: z.object({}),
})
