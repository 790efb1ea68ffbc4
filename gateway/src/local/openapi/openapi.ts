import { endpoints, refusals, refusalsOf, uploadFields, type Endpoint, type RefusalCode } from '@gatehouse/contracts'
import { version } from '@gatehouse/service-kit'
import { z } from 'zod'

export type Schema = {
  $ref?: string
  $defs?: Record<string, Schema>
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  minLength?: number
  maxLength?: number
  format?: string
  description?: string
}
type Content = Record<string, { schema: Schema }>
export type Operation = {
  operationId: string
  summary: string
  tags: string[]
  security?: Record<string, string[]>[]
  parameters?: { name: string; in: 'path' | 'query'; required: boolean; schema: Schema }[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { description: string; headers?: Record<string, { schema: Schema }>; content?: Content }>
}
export type OpenApi = {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, Record<string, string>> }
}

const about = 'Accounts, sessions and federation of one chat instance. Live events come over the WebSocket at /ws.'
const tags = {
  Accounts: 'Registration, login, profiles, pictures and the instance itself',
  Invites: 'Invite links, for admins',
  Administration: 'Accounts, settings and the audit log, for admins',
  Federation: 'Between instances',
  Upstreams: 'For services behind the gateway, which sign a statement of their own',
  Gateway: 'Served by the gateway itself',
}

/** Schemas with an id are components, refusals too. Contract: 8, public routes of the gateway. */
export function createOpenApi(): OpenApi {
  const paths: OpenApi['paths'] = { '/api/health': { get: health }, '/api/upstream-keys': { get: upstreamKeys } }
  for (const [name, endpoint] of Object.entries(endpoints as Record<string, Endpoint>)) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
    const methods = (paths[path] ??= {})
    methods[endpoint.method.toLowerCase()] = describeEndpoint(name, endpoint)
  }
  const schemas: OpenApi['components']['schemas'] = { Refusal: { oneOf: Object.values(refusalSchemas) } }
  return hoistSchemas({
    openapi: '3.1.0',
    info: { title: 'Gatehouse', version, description: about },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas, securitySchemes },
  })
}

/** Moves what zod put beside each schema to the components. */
function hoistSchemas(document: OpenApi): OpenApi {
  const schemas: Record<string, Schema> = {}
  const text = JSON.stringify(document).replaceAll('"#/$defs/', '"#/components/schemas/')
  const hoisted = JSON.parse(text, (_, value: Schema | null) => {
    if (!value?.$defs) return value
    const { $defs, ...rest } = value
    Object.assign(schemas, $defs)
    return rest
  }) as OpenApi
  Object.assign(hoisted.components.schemas, schemas)
  return hoisted
}

const securitySchemes: OpenApi['components']['securitySchemes'] = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  peer: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Federation-Signature',
    description: 'With X-Federation-Origin, -Timestamp and -Nonce: the signature of a peer over the body.',
  },
  upstream: {
    type: 'http',
    scheme: 'Upstream',
    bearerFormat: 'JWS',
    description:
      'Signed with Ed25519 by the key that the file of upstreams names: iss, aud, iat and exp, a minute later at most.',
  },
}

const health = ownOperation(z.object({ status: z.literal('ok') }), {
  operationId: 'health',
  summary: 'Whether the gateway is running',
  description: 'The gateway is running',
})

const upstreamKeys = ownOperation(z.object({ keys: z.array(z.record(z.string(), z.string())) }), {
  operationId: 'upstreamKeys',
  summary: 'The public keys of what the gateway states to upstreams about a caller, as a JWK Set',
  description: 'The key in use, and those of before that may still be met',
})

type OwnText = Record<'operationId' | 'summary' | 'description', string>

function ownOperation(reply: z.ZodType, { operationId, summary, description }: OwnText): Operation {
  const content = { 'application/json': { schema: toSchema(reply, 'output') } }
  return { operationId, summary, tags: ['Gateway'], responses: { 200: { description, content } } }
}

function describeEndpoint(name: string, endpoint: Endpoint): Operation {
  const { access, summary, body } = endpoint
  const scheme = access === 'admin' ? 'bearer' : access
  const parameters = [...parametersOf('path', endpoint), ...parametersOf('query', endpoint)]
  return {
    operationId: name,
    summary,
    tags: [tagOf(endpoint)],
    responses: describeReplies(endpoint),
    ...(scheme !== 'anyone' && { security: [{ [scheme]: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: isRequired(endpoint), content: bodyOf(body) } }),
  }
}

function tagOf({ path }: Endpoint): keyof typeof tags {
  if (path.startsWith('/api/admin/invites')) return 'Invites'
  if (/^\/api\/(admin|settings)\//.test(path)) return 'Administration'
  if (path.startsWith('/api/upstream/')) return 'Upstreams'
  return path.startsWith('/api/federation') ? 'Federation' : 'Accounts'
}

function parametersOf(place: 'path' | 'query', { params, query, path }: Endpoint) {
  const schema = place === 'path' ? params : query
  const { properties = {}, required = [], $defs } = schema ? toSchema(schema, 'input') : {}
  const names = place === 'path' ? [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name) : Object.keys(properties)
  return names.map((name) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: { ...(properties[name] ?? { type: 'string' }), ...($defs && { $defs }) },
  }))
}

/** No body is `{}`. Contract: 1, JSON bodies. */
function isRequired({ body, refusals = [] }: Endpoint): boolean {
  if (!body || body === 'multipart' || body === 'form') return true
  return !body.safeParse({}).success || refusals.includes('no_fields_to_update')
}

function bodyOf(body: NonNullable<Endpoint['body']>): Content {
  if (body === 'form') return { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } }
  if (body !== 'multipart') return { 'application/json': { schema: toSchema(body, 'input') } }
  const { properties } = toSchema(uploadFields, 'input')
  const file = { type: 'string', format: 'binary' }
  return {
    'multipart/form-data': { schema: { type: 'object', properties: { file, ...properties }, required: ['file'] } },
  }
}

const seconds = { schema: { type: 'integer' } }
const byteTypes = { file: 'image/webp', archive: 'application/zip', redirect: null } as const

function describeReplies(endpoint: Endpoint): Operation['responses'] {
  const { replies, limit } = endpoint
  const limited = limit && { 'RateLimit-Limit': seconds, 'RateLimit-Remaining': seconds, 'RateLimit-Reset': seconds }
  const described: Operation['responses'] = {}
  for (const [status, reply] of Object.entries(replies)) {
    const isJson = reply instanceof z.ZodType
    const schema = isJson ? toSchema(reply, 'output') : { type: 'string', format: 'binary' }
    const type = isJson ? 'application/json' : byteTypes[reply]
    const headers = { ...limited, ...(!type && { Location: { schema: { type: 'string' } } }) }
    const content = type && { [type]: { schema } }
    described[status] = { description: 'Done', ...(limited && { headers }), ...(content && { content }) }
  }
  for (const [status, codes] of Map.groupBy(refusalsOf(endpoint), (code) => refusals[code].status)) {
    const schemas = codes.map((code) => refusalSchemas[code])
    const schema = schemas.length > 1 ? { oneOf: schemas } : (schemas[0] ?? {})
    const texts = [...new Set(codes.map((code) => refusals[code].text))]
    described[status] = { description: texts.join(' / '), content: { 'application/json': { schema } } }
  }
  if (limit && described[429]) {
    const whose = limit.by ? `of one ${limit.by}` : 'from one address'
    described[429].description = `More than ${limit.requests} requests in ${limit.windowSeconds} seconds ${whose}`
    described[429].headers = { ...limited, 'Retry-After': seconds }
  }
  return described
}

/** Without code: the contract fixes the body of `rate_limited`. Contract: 1, rate limits. */
const refusalSchemas = Object.fromEntries(
  Object.entries<Refusal>(refusals).map(([code, { status, text, fields = {} }]) => {
    const error = z.string().describe('A message that a person can read')
    // Some have another code for instances of before.
    const own = fields['code'] ? z.union([z.literal(code), fields['code']]) : z.literal(code)
    const coded = code === 'rate_limited' ? {} : { code: own }
    const body = z.object({ error, statusCode: z.literal(status), ...fields, ...coded })
    const name = code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
    return [code, toSchema(body.meta({ id: `${name}Refusal`, description: text }), 'input')]
  }),
) as Record<RefusalCode, Schema>
type Refusal = { status: number; text: string; fields?: z.ZodRawShape }

/** Transformations have no JSON Schema. Replies are open: later versions may add fields. */
function toSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  // Inside an object, because zod never makes the outermost schema a reference.
  const { properties, $defs } = z.toJSONSchema(z.object({ root: schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  }) as Schema
  return { ...properties?.['root'], ...($defs && { $defs }) }
}
