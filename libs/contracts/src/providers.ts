import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { loopbackHost } from './constants/origins.ts'
import { isSafeRedirect } from './constants/redirects.ts'
import { registrationReason } from './registrations.ts'
import { anyText, namedObject, optionalText, shapeOf, snowflake, text, timestampMs } from './text.ts'
import { anyValue, credentialsReply, loginCode } from './users.ts'

// Contract: 3, Identity providers. Who may sign in with which account of elsewhere (OpenID Connect).

const noControls = /^[^\u0000-\u001f\u007f-\u009f]*$/

const id = z.string().regex(/^[a-z0-9-]{1,32}$/, { error: 'must be 1 to 32 lowercase letters, digits and hyphens' })
const line = (max: number) => z.string().trim().min(1).max(max).regex(noControls, { error: 'must be one line of text' })

function isIssuer(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s]/.test(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username || password) return false
  return protocol === 'https:' || (protocol === 'http:' && loopbackHost.test(hostname))
}
const issuer = z.string().max(500).refine(isIssuer, {
  error: 'must be an https URL without a query, such as https://login.example, or http on a loopback address',
})
/** An address elsewhere would tell another host who opens the login page. */
const icon = z
  .string()
  .max(8_192)
  .regex(/^data:image\/(png|svg\+xml|webp|jpeg|gif);base64,[A-Za-z0-9+/=]+$/, {
    error: 'must be an image as data:image/…;base64,…',
  })

const scopes = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(' ').filter((scope) => scope !== ''))], {
    error: 'must be a list of texts, or a text with spaces between them',
  })
  .refine((list) => list.length <= 32 && list.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/.test(scope)), {
    error: 'must be at most 32 texts without spaces, quotes and backslashes',
  })
  .refine((list) => list.includes('openid'), { error: 'must include openid' })
  .default(['openid', 'profile'])

export const registrationsByProvider = ['gate', 'open', 'invite', 'never'] as const

/** An entry of the file GATEHOUSE_PROVIDERS. */
export const identityProvider = z
  .strictObject({
    id,
    name: line(64),
    issuer,
    clientId: line(255),
    clientSecret: z.string().min(1).max(1_024).optional(),
    clientSecretFile: z.string().min(1).optional(),
    scopes,
    usernameClaim: line(64).default('preferred_username'),
    registration: z.enum(registrationsByProvider).default('gate'),
    secondFactor: z.enum(['ask', 'trust']).default('ask'),
    icon: icon.optional(),
  })
  .refine((provider) => (provider.clientSecret === undefined) !== (provider.clientSecretFile === undefined), {
    error: 'needs either clientSecret or clientSecretFile',
    path: ['clientSecret'],
  })

export type IdentityProvider = z.infer<typeof identityProvider>

/** A YAML or JSON file. Ids and issuers are unique: an identity is (issuer, sub). */
export const providersFile = z.strictObject(
  { providers: z.array(identityProvider).max(32) },
  { error: ({ code }) => (code === 'invalid_type' ? 'must have a list `providers:`' : undefined) },
)

export const providersReply = z.object({
  providers: z.array(namedObject('Provider', { id: z.string(), name: z.string(), icon: z.string().optional() })),
  /** False: local accounts cannot log in with a password. */
  passwords: z.boolean(),
})

export const providerParams = z.object({ provider: text('provider').max(255) })

/** `link`, `confirm`: under the bearer of a local account. */
export const providerPurposes = ['login', 'link', 'confirm'] as const
export type ProviderPurpose = (typeof providerPurposes)[number]

export const startProviderBody = z.object({
  purpose: z.enum(providerPurposes, { error: `purpose must be one of ${providerPurposes.join(', ')}` }),
  /** A path of the web app, for after the sign-in. */
  redirect: text('redirect')
    .max(limits.redirectMax)
    .refine(isSafeRedirect, { error: 'redirect must be a path of this instance' })
    .nullish(),
})
/** Where the browser goes next. */
export const nextAddress = namedObject('NextAddress', { url: z.string() })
export const startProviderReply = nextAddress

/** In the fragment of `/sign-in`, as `error`. `unavailable`: this instance is. */
export const providerCallbackErrors = [
  'cancelled',
  'expired',
  'provider_error',
  'provider_unavailable',
  'unavailable',
] as const
export type ProviderCallbackError = (typeof providerCallbackErrors)[number]

/** What the provider sends. The program judges all of it. */
export const providerCallbackQuery = z.object(
  shapeOf(['state', 'code', 'error', 'iss'], () => z.string().optional().catch(undefined)),
)

/** `login`: the first line; `link`: the second, under the bearer. */
export const finishProviderBody = z.object({
  ticket: anyText('ticket'),
  code: loginCode,
  password: anyValue<string>(),
  confirm: anyValue<string>(),
  /** With it the sign-in registers an account. */
  username: text('username').nullish(),
  displayName: optionalText('displayName', limits.displayNameMax, 'one').optional(),
  inviteToken: anyValue<string>(),
  reason: registrationReason,
})

export const linkedIdentity = namedObject('LinkedIdentity', {
  id: snowflake,
  /** Its id in the list of providers. */
  provider: z.string(),
  /** What the provider calls the person. */
  name: z.string().nullable(),
  linkedAt: timestampMs,
  lastUsedAt: timestampMs.nullable(),
})
export type LinkedIdentityReply = z.infer<typeof linkedIdentity>
export const linkedIdentitiesReply = z.object({ identities: z.array(linkedIdentity) })
export const identityLinkedReply = namedObject('IdentityLinked', { success: z.literal(true), identity: linkedIdentity })
export const finishProviderReply = z.union([credentialsReply, identityLinkedReply])

/** What a person may register as, and what it takes. `registrationOpen` false: an invite. */
export const registrationOffer = {
  proposal: z.object({ username: z.string().nullable(), displayName: z.string().nullable() }),
  gates: z.object({ registrationOpen: z.boolean() }),
}
