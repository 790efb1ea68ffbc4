import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { text, timestampMs } from './text.ts'
import { userReply } from './users.ts'

const moment = z.number({ error: 'must be a time in milliseconds' })

/** An instance in the list that a client keeps. protocol.md 5.2. */
const registryEntry = z.object({
  origin: text('origin').min(1, { error: 'origin is required' }),
  label: text('label').default(''),
  username: text('username').default(''),
  remoteUserId: text('remoteUserId').default(''),
  status: z
    .enum(['connected', 'disconnected', 'unreachable', 'auth_expired'], {
      error: 'status must be connected, disconnected, unreachable or auth_expired',
    })
    .meta({ id: 'RegistryStatus' }),
  addedAt: moment,
  lastConnectedAt: moment.nullable().default(null),
  disconnectedAt: moment.nullable().default(null),
  errorMessage: text('errorMessage').nullable().default(null),
})

/** Replaces the whole list. protocol.md 5.2. */
export const registryBody = z.object({
  registry: z
    .array(registryEntry, { error: 'registry must be a list' })
    .max(limits.registryEntriesMax, { error: `registry holds at most ${limits.registryEntriesMax} instances` })
    .refine((entries) => new Set(entries.map(({ origin }) => origin)).size === entries.length, {
      error: 'registry names an origin twice',
    }),
  updatedAt: timestampMs.min(1, { error: 'updatedAt must be a time in milliseconds' }),
})
export const registryReply = z.object({ registry: z.array(registryEntry), updatedAt: timestampMs })
export const putRegistryReply = z.object({ ok: z.literal(true), updatedAt: timestampMs })

/** Asks for the password that the home makes for another instance. protocol.md 4.7. */
export const federationCredentialBody = z.object({
  origin: text('origin').min(1).max(512),
  markProvisioned: z.boolean().optional(),
})
export const federationCredentialReply = z
  .object({ origin: z.string(), secret: z.string(), provisioned: z.boolean() })
  .meta({ id: 'FederationCredential' })

/** Host of the detached account. protocol.md 4.6, step 1. */
export const attachProofBody = z.object({ targetDomain: text('targetDomain').min(1).max(limits.hostMax) })
export const reattachReply = z.object({ success: z.literal(true), user: userReply })
