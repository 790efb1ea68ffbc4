import type { z } from 'zod'
import { rateLimits } from '../constants/rate-limits.ts'
import type { RateLimit } from '../constants/rate-limits.ts'
import { accountSchemas } from './account-schemas.ts'
import { adminSchemas, inviteSchemas } from './admin-schemas.ts'
import { federationSchemas } from './federation-schemas.ts'
import { endpointTable } from './table.ts'
import type { EndpointName, EndpointRow } from './table.ts'

/** What belongs to a row of the table: its line in the API description, and the schemas of input and replies. */
export type EndpointSchemas = {
  summary: string
  params?: z.ZodObject
  query?: z.ZodObject
  /** A JSON body; `'multipart'` for a file in the field `file`. */
  body?: z.ZodType | 'multipart'
  /** Successful replies by status; `'file'` for the bytes of an image, `'archive'` for those of a ZIP archive. */
  replies: Record<number, z.ZodType | 'file' | 'archive'>
}
export type Endpoint = EndpointRow & EndpointSchemas & { limit?: RateLimit }

const schemas = {
  ...accountSchemas,
  ...inviteSchemas,
  ...adminSchemas,
  ...federationSchemas,
} as const satisfies Record<EndpointName, EndpointSchemas>

type Rows = typeof endpointTable
type Schemas = typeof schemas
type Limits = typeof rateLimits
type Endpoints = {
  [N in EndpointName]: Rows[N] & Schemas[N] & (N extends keyof Limits ? { limit: Limits[N] } : unknown)
}

/** The whole public API: each row of the table with its rate limit and schemas. */
export const endpoints = Object.fromEntries(Object.keys(endpointTable).map(join)) as Endpoints

function join(key: string): [string, Endpoint] {
  const name = key as EndpointName
  const limit = name in rateLimits ? { limit: rateLimits[name as keyof Limits] } : {}
  return [name, { ...endpointTable[name], ...limit, ...schemas[name] }]
}

type PathParameter<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathParameter<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type ParamsInput<N extends EndpointName> = [PathParameter<Rows[N]['path']>] extends [never]
  ? unknown
  : { params: Record<PathParameter<Rows[N]['path']>, string> }
type QueryInput<N extends EndpointName> = Schemas[N] extends { query: z.ZodType }
  ? { query?: EndpointQuery<N> | undefined }
  : unknown
type BodyInput<N extends EndpointName> = Schemas[N] extends { body: unknown } ? { body: EndpointBody<N> } : unknown

/** The body that a caller sends. */
export type EndpointBody<N extends EndpointName> = Schemas[N] extends { body: infer Body }
  ? Body extends z.ZodType
    ? z.input<Body>
    : FormData
  : never

/** The query of a caller, in the types that the service reads from its text; each field may be left out. */
export type EndpointQuery<N extends EndpointName> = Schemas[N] extends { query: infer Query extends z.ZodType }
  ? Partial<z.output<Query>>
  : never

/** Everything that a call of an endpoint needs: `params`, `query` and `body`, as far as it has them. */
export type EndpointInput<N extends EndpointName> = ParamsInput<N> & QueryInput<N> & BodyInput<N>

/** The JSON of a successful reply. */
export type EndpointReply<N extends EndpointName> = {
  [Status in keyof Schemas[N]['replies']]: Schemas[N]['replies'][Status] extends infer Reply extends z.ZodType
    ? z.output<Reply>
    : never
}[keyof Schemas[N]['replies']]
