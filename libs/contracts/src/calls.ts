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

/**
 * The question of gateways to identity for account states. It goes over HTTP and not over the bus, because the answer
 * must come although NATS is away: docs/decisions/account-states.md. Unknown ids are missing from the reply.
 */
export const accountStatesQuery = {
  path: '/internal/account-states',
  request: z.object({ userIds: z.array(snowflake).min(1).max(1_000) }),
  reply: z.object({ states: z.array(accountState) }),
} as const
