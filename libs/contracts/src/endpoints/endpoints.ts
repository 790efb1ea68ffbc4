import type { z } from 'zod'
import type { RefusalCode } from '../refusals.ts'
import { idParams } from '../text.ts'
import { accountDeclarations } from './accounts.ts'
import { administrationDeclarations } from './administration.ts'
import type { EndpointDeclaration } from './declaration.ts'
import { federationDeclarations } from './federation.ts'
import { inviteDeclarations } from './invites.ts'
import { openidDeclarations } from './openid.ts'
import { upstreamDeclarations } from './upstreams.ts'
import { endpointTable } from './table.ts'
import type { Access, EndpointName, EndpointRow, RateLimit } from './table.ts'

export type { ToldAccount } from './upstreams.ts'

export type Endpoint = EndpointDeclaration & Omit<EndpointRow, 'limit'> & { name: EndpointName; limit?: RateLimit }

const declarations = {
  ...accountDeclarations,
  ...upstreamDeclarations,
  ...openidDeclarations,
  ...inviteDeclarations,
  ...administrationDeclarations,
  ...federationDeclarations,
} satisfies Record<EndpointName, EndpointDeclaration>

type Rows = typeof endpointTable
type Schemas = typeof declarations
type Endpoints = {
  [N in EndpointName]: Omit<Rows[N], 'limit'> & Schemas[N] & ParamsOf<Rows[N]['path']> & { name: N; limit?: RateLimit }
}
type ParamsOf<Path> = Path extends `${string}/:id${string}` ? { params: typeof idParams } : unknown

export const endpoints = Object.fromEntries(Object.keys(endpointTable).map(join)) as Endpoints

function join(key: string): [string, Endpoint] {
  const name = key as EndpointName
  const { limit, ...row }: EndpointRow = endpointTable[name]
  const params = row.path.includes('/:id') && { params: idParams }
  return [name, { name, ...row, ...(limit && { limit: { name, ...limit } }), ...params, ...declarations[name] }]
}

const everywhere = ['validation_failed', 'internal', 'unavailable', 'busy', 'too_many_connections'] as const
const broken = ['bad_gateway', 'gateway_timeout'] as const
const ofForm = ['body_too_large'] as const
const ofJson = [...ofForm, 'unsupported_media_type', 'json_required'] as const
const ofToken = ['unauthorized', 'invalid_token', 'token_revoked', 'account_deleted'] as const
const ofSignature = ['signature_missing', 'signature_wrong', 'signature_stale', 'peer_unknown', 'nonce_used'] as const
const byAccess = {
  anyone: [],
  bearer: ofToken,
  admin: [...ofToken, 'admin_required', 'second_factor_setup_required'],
  peer: [...ofSignature, 'body_encoded'],
  upstream: ['statement_invalid', 'statement_stale', 'right_missing'],
} as const satisfies Record<Access, readonly RefusalCode[]>

export function refusalsOf({ access, limit, body, refusals = [] }: Endpoint): Set<RefusalCode> {
  const kind = [...everywhere, ...broken, ...byAccess[access], ...(limit ? (['rate_limited'] as const) : [])]
  const ofBody = body === 'multipart' || body === 'form' ? ofForm : body || access === 'peer' ? ofJson : []
  return new Set([...kind, ...ofBody, ...refusals])
}

/** A superset for endpoints without limit or body. */
export type RefusalCodeOf<N extends EndpointName> =
  | (typeof everywhere | typeof broken | typeof ofJson | (typeof byAccess)[Rows[N]['access']])[number]
  | 'rate_limited'
  | (Schemas[N] extends { refusals: readonly (infer Code extends RefusalCode)[] } ? Code : never)

type ParamsInput<N extends EndpointName> = Endpoints[N] extends { params: infer Params extends z.ZodType }
  ? { params: z.input<Params> }
  : unknown
type QueryInput<N extends EndpointName> = Schemas[N] extends { query: z.ZodType }
  ? { query?: EndpointQuery<N> | undefined }
  : unknown
type BodyInput<N extends EndpointName> = Schemas[N] extends { body: unknown } ? { body: EndpointBody<N> } : unknown

type BodyOf<Body> = Body extends z.ZodType ? z.input<Body> : FormData
export type EndpointBody<N extends EndpointName> = Schemas[N] extends { body: infer Body } ? BodyOf<Body> : never

export type EndpointQuery<N extends EndpointName> = Schemas[N] extends { query: infer Query extends z.ZodType }
  ? Partial<z.output<Query>>
  : never

export type EndpointInput<N extends EndpointName> = ParamsInput<N> & QueryInput<N> & BodyInput<N>

export type EndpointReply<N extends EndpointName> = {
  [Status in keyof Schemas[N]['replies']]: Schemas[N]['replies'][Status] extends infer Reply extends z.ZodType
    ? z.output<Reply>
    : never
}[keyof Schemas[N]['replies']]
