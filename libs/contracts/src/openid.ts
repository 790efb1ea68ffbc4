import { z } from 'zod'
import { isApplicationUri, isPrivateUseUri } from './constants/application-uris.ts'
import * as limits from './constants/limits.ts'
import { nextAddress } from './providers.ts'
import { anyText, namedObject, requiredText, snowflake, text, timestampMs } from './text.ts'

// Contract: 3, Applications. What logs its users in with accounts of this instance (OpenID Connect).

export const applicationTypes = ['confidential', 'public'] as const
export type ApplicationType = (typeof applicationTypes)[number]
export const accessTokenForms = ['opaque', 'jwt'] as const
/** `public`: `sub` is the account's id. `pairwise`: applications of other hosts have others. OpenID Connect Core, 8. */
export const subjectTypes = ['public', 'pairwise'] as const
/** `profile` gives name, preferred_username, picture and updated_at. */
export const applicationScopes = ['openid', 'profile', 'offline_access'] as const

const uriText = (name: string) => text(name).max(limits.applicationUriMax)
const webUri = (name: string) =>
  uriText(name).refine(isApplicationUri, { error: `${name} must be https, or http on a loopback address` })
const redirectUri = uriText('redirectUris').refine((uri) => isApplicationUri(uri) || isPrivateUseUri(uri), {
  error: 'redirectUris must be https, http on a loopback address, or of a private scheme such as com.example.app:/done',
})
const unique = (uris: string[]) => new Set(uris).size === uris.length
const noList = (name: string) => ({ error: `${name} must be a list of addresses` })

const applicationType = z
  .enum(applicationTypes, { error: 'type must be confidential or public' })
  .meta({ id: 'ApplicationType' })
const accessTokens = z
  .enum(accessTokenForms, { error: 'accessTokens must be opaque or jwt' })
  .meta({ id: 'AccessTokenForm' })
const subjectType = z
  .enum(subjectTypes, { error: 'subjectType must be public or pairwise' })
  .meta({ id: 'SubjectType' })

const of = {
  name: requiredText('name', limits.applicationNameMax),
  redirectUris: z
    .array(redirectUri, noList('redirectUris'))
    .max(limits.applicationUrisMax)
    .refine(unique, { error: 'redirectUris names an address twice' }),
  postLogoutRedirectUris: z
    .array(webUri('postLogoutRedirectUris'), noList('postLogoutRedirectUris'))
    .max(limits.applicationUrisMax)
    .refine(unique, { error: 'postLogoutRedirectUris names an address twice' }),
  backchannelLogoutUri: webUri('backchannelLogoutUri').nullable(),
  signalsUri: webUri('signalsUri').nullable(),
  skipConsent: z.boolean({ error: 'skipConsent must be true or false' }),
  accessTokens,
  deviceGrant: z.boolean({ error: 'deviceGrant must be true or false' }),
}

export const createApplicationBody = z.object({
  name: of.name,
  redirectUris: of.redirectUris,
  type: applicationType,
  postLogoutRedirectUris: of.postLogoutRedirectUris.optional(),
  backchannelLogoutUri: of.backchannelLogoutUri.optional(),
  signalsUri: of.signalsUri.optional(),
  skipConsent: of.skipConsent.optional(),
  accessTokens: of.accessTokens.optional(),
  deviceGrant: of.deviceGrant.optional(),
  subjectType: subjectType.optional(),
})
export const patchApplicationBody = z.object({
  name: of.name.optional(),
  redirectUris: of.redirectUris.optional(),
  postLogoutRedirectUris: of.postLogoutRedirectUris.optional(),
  backchannelLogoutUri: of.backchannelLogoutUri.optional(),
  signalsUri: of.signalsUri.optional(),
  skipConsent: of.skipConsent.optional(),
  accessTokens: of.accessTokens.optional(),
  deviceGrant: of.deviceGrant.optional(),
  suspended: z.boolean({ error: 'suspended must be true or false' }).optional(),
})

/** How telling an application goes. `lastError`: what it answered, or why it could not be reached. */
const receiverState = namedObject('ApplicationReceiver', {
  waiting: z.int(),
  lastDeliveredAt: timestampMs.nullable(),
  failingSince: timestampMs.nullable(),
  lastError: z.string().nullable(),
})
export type ReceiverState = z.infer<typeof receiverState>

export const applicationReply = namedObject('Application', {
  /** The client_id. */
  id: snowflake,
  name: z.string(),
  type: applicationType,
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  backchannelLogoutUri: z.string().nullable(),
  signalsUri: z.string().nullable(),
  skipConsent: z.boolean(),
  accessTokens,
  /** Whether its devices get codes that a person types. RFC 8628. */
  deviceGrant: z.boolean(),
  subjectType,
  suspendedAt: timestampMs.nullable(),
  createdAt: timestampMs,
  createdBy: snowflake.nullable(),
  /** Until then the secret before the current one is accepted too. */
  previousSecretUntil: timestampMs.nullable(),
  receiver: z.object({ backchannel: receiverState.nullable(), signals: receiverState.nullable() }),
})
export type ApplicationReply = z.infer<typeof applicationReply>
export const applicationsReply = z.object({ applications: z.array(applicationReply) })
export const oneApplicationReply = z.object({ application: applicationReply })
/** The secret is shown this once. A public application has none. */
export const createdApplicationReply = oneApplicationReply.extend({ clientSecret: z.string().optional() })
export const applicationSecretReply = z.object({ clientSecret: z.string() })

export const connectedApplicationsReply = z.object({
  applications: z.array(
    namedObject('ConnectedApplication', {
      id: snowflake,
      name: z.string(),
      scopes: z.array(z.string()),
      grantedAt: timestampMs,
      lastUsedAt: timestampMs.nullable(),
    }),
  ),
})

/** A request for authorization that waits for the person. */
export const interactionParams = z.object({ uid: text('uid').max(64) })
const asking = namedObject('AskingApplication', {
  id: snowflake,
  name: z.string(),
  /** Where the answer goes. Null: to a device. */
  redirectHost: z.string().nullable(),
})
export const interactionReply = z.object({
  application: asking,
  scopes: z.array(z.string()),
  /** False: the application needs no consent, or the person has given it before. */
  isConsentNeeded: z.boolean(),
  /** `login`: the application demands a log-in after this request. */
  prompt: z.enum(['login', 'consent']),
  loginHint: z.string().optional(),
})
export const decisionBody = z.object({
  decision: z.enum(['allow', 'deny'], { error: 'decision must be allow or deny' }).meta({ id: 'Decision' }),
})
export const decisionReply = nextAddress

export const deviceCodeBody = z.object({ userCode: anyText('userCode').max(64) })
export const deviceCodeReply = z.object({ application: asking, scopes: z.array(z.string()), uid: z.string() })
export const deviceDecisionBody = decisionBody.extend({ uid: text('uid').max(64) })
