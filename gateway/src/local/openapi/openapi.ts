import { endpoints, refusals, refusalsOf, type Endpoint, type RefusalCode } from '@gatehouse/contracts'
import { version } from '@gatehouse/service-kit'
import { z } from 'zod'

export type Schema = {
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
  components: { securitySchemes: Record<string, Record<string, string>> }
}

const tags = {
  Accounts: 'Registration, login, profiles, pictures and the instance itself',
  Invites: 'Invite links, for admins',
  Administration: 'Accounts, settings and the audit log, for admins',
  Federation: 'Between instances',
  Gateway: 'Served by the gateway itself',
}
type Tag = keyof typeof tags

/** Contract: 8. */
export function createOpenApi(): OpenApi {
  const paths: OpenApi['paths'] = { '/api/health': { get: health }, '/api/upstream-keys': { get: upstreamKeys } }
  for (const [name, endpoint] of Object.entries(endpoints as Record<string, Endpoint>)) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
    const methods = (paths[path] ??= {})
    methods[endpoint.method.toLowerCase()] = describeEndpoint(name, endpoint)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version,
      description:
        'Accounts, sessions and federation of one chat instance. Live events come over the WebSocket at /ws.',
    },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { securitySchemes },
  }
}

const securitySchemes: OpenApi['components']['securitySchemes'] = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  peer: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Federation-Signature',
    description: 'With X-Federation-Origin, -Timestamp and -Nonce: the signature of a peer over the body.',
  },
}

const health: Operation = {
  operationId: 'health',
  summary: 'Whether the gateway is running',
  tags: ['Gateway'],
  responses: {
    200: {
      description: 'The gateway is running',
      content: { 'application/json': { schema: toSchema(z.object({ status: z.literal('ok') }), 'output') } },
    },
  },
}

const upstreamKeys: Operation = {
  operationId: 'upstreamKeys',
  summary: 'The public keys of what the gateway states to upstreams about a caller, as a JWK Set',
  tags: ['Gateway'],
  responses: {
    200: {
      description: 'The key in use, and those of before that may still be met',
      content: {
        'application/json': {
          schema: toSchema(z.object({ keys: z.array(z.record(z.string(), z.string())) }), 'output'),
        },
      },
    },
  },
}

function describeEndpoint(name: string, endpoint: Endpoint): Operation {
  const operation: Operation = {
    operationId: name,
    summary: endpoint.summary,
    tags: [tagOf(endpoint)],
    responses: describeReplies(endpoint),
  }
  if (endpoint.access === 'bearer' || endpoint.access === 'admin') operation.security = [{ bearer: [] }]
  if (endpoint.access === 'peer') operation.security = [{ peer: [] }]
  const parameters = [...parametersOf('path', endpoint), ...parametersOf('query', endpoint)]
  if (parameters.length > 0) operation.parameters = parameters
  if (endpoint.body) operation.requestBody = { required: true, content: bodyOf(endpoint.body) }
  return operation
}

function tagOf({ path }: Endpoint): Tag {
  if (path.startsWith('/api/admin/invites')) return 'Invites'
  if (/^\/api\/(admin|settings)\//.test(path)) return 'Administration'
  return path.startsWith('/api/federation') ? 'Federation' : 'Accounts'
}

function parametersOf(place: 'path' | 'query', { params, query, path }: Endpoint) {
  const given = place === 'path' ? params : query
  const shape = given ? toSchema(given, 'input') : {}
  const { properties = {}, required = [] } = shape
  const names = place === 'path' ? [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name) : Object.keys(properties)
  return names.map((name) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: properties[name] ?? { type: 'string' },
  }))
}

function bodyOf(body: z.ZodType | 'multipart'): Content {
  if (body !== 'multipart') return { 'application/json': { schema: toSchema(body, 'input') } }
  const file = { type: 'string', format: 'binary' }
  return { 'multipart/form-data': { schema: { type: 'object', properties: { file }, required: ['file'] } } }
}

const seconds = { schema: { type: 'integer' } }
const byteTypes = { file: 'image/webp', archive: 'application/zip' } as const

function describeReplies(endpoint: Endpoint): Operation['responses'] {
  const { replies, limit } = endpoint
  const limited = limit && { 'RateLimit-Limit': seconds, 'RateLimit-Remaining': seconds, 'RateLimit-Reset': seconds }
  const described: Operation['responses'] = {}
  for (const [status, reply] of Object.entries(replies)) {
    const content =
      reply instanceof z.ZodType
        ? { 'application/json': { schema: toSchema(reply, 'output') } }
        : { [byteTypes[reply]]: { schema: { type: 'string', format: 'binary' } } }
    described[status] = { description: 'Done', ...(limited && { headers: limited }), content }
  }
  for (const [status, codes] of byStatus(endpoint)) {
    const content = { 'application/json': { schema: refusalSchema(status, codes) } }
    const texts = [...new Set(codes.map((code) => refusals[code].text))]
    described[status] = { description: texts.join(' / '), content }
  }
  if (limit && described[429]) {
    described[429].description = `More than ${limit.requests} requests in ${limit.windowSeconds} seconds ${limit.by === 'account' ? 'of one account' : 'from one address'}`
    described[429].headers = { ...limited, 'Retry-After': seconds }
  }
  return described
}

function byStatus(endpoint: Endpoint): Map<number, RefusalCode[]> {
  return Map.groupBy(refusalsOf(endpoint), (code) => refusals[code].status)
}

/** Contract: 1. */
function refusalSchema(status: number, codes: readonly RefusalCode[]): Schema {
  const shapes = codes.map((code) => (refusals[code] as { fields?: z.ZodRawShape }).fields)
  const { code: ofPeers, ...shape } = Object.assign({}, ...shapes) as z.ZodRawShape
  const code = ofPeers ? z.union([z.enum(codes), ofPeers]) : z.enum(codes)
  const coded = codes.includes('rate_limited') ? {} : { code }
  const fields = z.object(shape)
  const error = z.string().describe('A message that a person can read')
  const body = z.object({
    error,
    statusCode: z.literal(status),
    ...coded,
    ...(codes.length > 1 ? fields.partial() : fields).shape,
  })
  return toSchema(body, 'input')
}

/** Refinements and transformations have no JSON Schema. */
function toSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' })
  return rest as Schema
}
