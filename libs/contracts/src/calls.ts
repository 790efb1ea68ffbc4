import { z } from 'zod'
import { accountState } from './users.ts'
import { homeFields, isNewField } from './constants/profile-fields.ts'
import { defineCall } from './define.ts'
import { deleteIdentityBody, deletionMode, fanoutResult, resolveStubBody } from './federation.ts'
import { socketsReply } from './sockets.ts'
import { accountStateUpdate } from './relay.ts'
import { shapeOf, snowflake, timestampMs } from './text.ts'

/** With the longest tokens a message has 200 KiB. */
export const maxTokensPerCall = 100

/** What a peer reports of the profile of one of its users. Wire: 3, profile_update. */
const remoteProfile = z.object({
  homeUserId: z.string(),
  profileUpdatedAt: timestampMs,
  username: z.string(),
  ...shapeOf(homeFields, (name) => (isNewField(name) ? z.string().nullable().default(null) : z.string().nullable())),
})
export type RemoteProfile = z.infer<typeof remoteProfile>

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

/** Asks identity to apply profiles that a peer reports of its own users to their replicas here. Contract: 7, relay. */
export const applyRemoteProfiles = defineCall({
  subject: 'call.identity.apply-remote-profiles.v1',
  request: z.object({
    /** The signer's: pictures are fetched from this origin only. */
    origin: z.string(),
    /** The signer's host; replicas of another home instance are left alone. */
    host: z.string(),
    profiles: z.array(remoteProfile).max(50),
  }),
  reply: z.object({ applied: z.number().int() }),
})

/** What a home says of one of its accounts. */
const toldState = accountStateUpdate.omit({ homeInstance: true })
export type ToldState = z.infer<typeof toldState>

/** Asks identity to suspend accounts of a home at its word, and to lift that. Contract: 7, Account states. */
export const applyAccountStates = defineCall({
  subject: 'call.identity.apply-account-states.v1',
  /** Of the signer. */
  request: z.object({ origin: z.string(), host: z.string(), states: z.array(toldState).max(50) }),
  /** Of these users of the home there is none here. */
  reply: z.object({ unknown: z.array(z.string()) }),
})

/** Asks identity to end what a reset peer left: stubs are tombstoned (soft), real accounts detached. Contract: 7, detached accounts. */
export const detachHome = defineCall({
  subject: 'call.identity.detach-home.v1',
  request: z.object({ host: z.string() }),
  reply: z.object({ tombstoned: z.number().int(), detached: z.number().int() }),
})

/**
 * Asks federation-fanout whether a home instance is still the one that is known: `unknown` when it is no peer, a revoked or
 * rejected one, or its instanceId was never learnt, `same` and `changed` from a signed answer, else `unverified`. Contract: 7, login repair.
 */
export const checkHomeEpoch = defineCall({
  subject: 'call.federation.check-home-epoch.v1',
  request: z.object({ host: z.string(), timeoutMs: z.number().int().positive() }),
  reply: z.object({ outcome: z.enum(['unknown', 'same', 'changed', 'unverified']) }),
})

/**
 * Asks federation-fanout to delete a user's identity at peers. Each origin, as spelled, has a result. Unreachable peers are
 * asked too where it is `durable`. Contract: 7, fan-out.
 */
export const deleteIdentitiesAtPeers = defineCall({
  subject: 'call.federation.delete-identities.v1',
  request: z.object({
    userId: snowflake,
    origins: z.array(z.string()),
    mode: deletionMode,
    durable: z.boolean().optional(),
  }),
  reply: z.object({ results: z.array(z.object({ origin: z.string(), result: fanoutResult })) }),
})

/** Asks federation-fanout for the user of a peer by id (users/by-home-id). `no_peer` when the host is no active peer. */
export const lookUpByHomeId = defineCall({
  subject: 'call.federation.look-up-by-home-id.v1',
  request: z.object({ host: z.string(), homeUserId: z.string() }),
  reply: z.object({
    outcome: z.enum(['no_peer', 'found', 'not_found', 'unreachable']),
    username: z.string().optional(),
    profile: remoteProfile.partial().optional(),
  }),
})

/** Asks federation-fanout to have a home instance verify an attach proof (verify-attach-proof). Contract: 7, reattach. */
export const verifyAttachProof = defineCall({
  subject: 'call.federation.verify-attach-proof.v1',
  request: z.object({ host: z.string(), token: z.string() }),
  reply: z.object({
    outcome: z.enum(['no_peer', 'valid', 'invalid', 'unreachable']),
    homeUserId: z.string().optional(),
    username: z.string().optional(),
  }),
})

/** Asks a session gateway for the open sockets of an account on all nodes, as they are told to it. Contract: 5, A user. */
export const listOpenSockets = defineCall({
  subject: 'call.session-gateway.list-sockets.v1',
  request: z.object({ userId: snowflake }),
  reply: socketsReply,
})

/** Claims of sockets' tokens, in order; null for an invalid or expired one. docs/decisions/caller-identity.md. */
export const readTokenClaims = defineCall({
  subject: 'call.identity.read-token-claims.v1',
  request: z.object({ tokens: z.array(z.string()).min(1).max(maxTokensPerCall) }),
  /** Times in seconds since the epoch. */
  reply: z.object({ claims: z.array(z.object({ userId: z.string(), iat: z.int(), exp: z.int() }).nullable()) }),
})

/** Over HTTP, because it must be answered without NATS: docs/decisions/account-states.md. Unknown ids are missing. */
export const accountStatesQuery = {
  path: '/internal/account-states',
  request: z.object({ userIds: z.array(snowflake).min(1).max(1_000) }),
  /** `cacheId`: of the cache that identity writes, while it knows which that is. */
  reply: z.object({ states: z.array(accountState), cacheId: z.string().optional() }),
} as const
