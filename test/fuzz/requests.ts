import { endpoints, type Endpoint } from '@gatehouse/contracts'
import { z } from 'zod'
import type { Account } from '../revocation/accounts.ts'
import { seededRandom, type Random } from './random.ts'
import type { Targets } from './targets.ts'
import { hostileTexts, mutateBytes, mutateValue, sampleSchema, type JsonSchema } from './values.ts'

/** One request. A raw one is `bytes` as they are; the others are framed as HTTP asks. */
export type RequestCase = {
  endpoint: string
  /** Whether the endpoint asks another instance, so that 502 and 504 are answers. */
  callsPeers: boolean
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer
  bytes?: Buffer
}

type Described = { name: string; endpoint: Endpoint; body: JsonSchema | undefined; query: JsonSchema | undefined }

const described = Object.entries(endpoints).map(([name, row]): Described => {
  const endpoint: Endpoint = row
  const body = endpoint.body instanceof z.ZodType ? toSchema(endpoint.body) : undefined
  return { name, endpoint, body, query: endpoint.query && toSchema(endpoint.query) }
})
/**
 * These hash passwords, at the lowest priority. With the short queue of a run most of what is valid enough to be hashed gets
 * 503 at once, so that their bodies are mutated in volume and a run does not wait.
 */
const hashes = ({ endpoint }: Described) => endpoint.refusals?.includes('hashing_busy') ?? false
const rare = described.filter(hashes)
const common = described.filter((one) => !hashes(one))
const hashingShare = 0.15

const otherPaths = [
  '/',
  '/ws',
  '/api',
  '/api/',
  '/api/health',
  '/api/openapi.json',
  '/api/docs',
  '/index.html',
  '/metrics',
  '/assets/../../x',
]
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']
const boundary = 'fuzz'

function toSchema(schema: z.ZodType): JsonSchema {
  // An empty registry: the names of schemas would make them references.
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', metadata: z.registry() }) as JsonSchema
}

/** The request of this seed: the same each time, but for the time that a signature names. */
export function requestCase(seed: number, targets: Targets): RequestCase {
  const random = seededRandom(seed)
  const chosen = random.pick(random.chance(hashingShare) ? rare : common)
  const { endpoint, name } = chosen
  const path = random.chance(0.05) ? random.pick(otherPaths) : pathOf(chosen, targets, random)
  const body = bodyOf(chosen, targets, random)
  const request = {
    endpoint: name,
    callsPeers: endpoint.service === 'federation-fanout' || name === 'login' || name === 'register',
    method: random.chance(0.05) ? random.pick(methods) : endpoint.method,
    path: random.chance(0.05) ? mutatePath(path, random) : path,
    headers: headersOf(chosen, body, targets, random),
    body,
  }
  const isFramed = isRequestTarget(request.path) && Object.values(request.headers).every(isHeaderValue)
  if (isFramed && !random.chance(0.08)) return request
  return { ...request, bytes: rawBytes(request, random) }
}

function pathOf({ endpoint, query }: Described, { validValues }: Targets, random: Random): string {
  const path = endpoint.path.replace(/:(\w+)/g, (_, name: string) => {
    if (random.chance(0.7)) return encodeURIComponent(String(random.pick(validValues[name] ?? validValues.id!)))
    return encodeText(random.pick(hostileTexts))
  })
  if (!query || random.chance(0.2)) return path
  const sampled = sampleSchema(query, validValues, random) as Record<string, unknown>
  const mutated = random.chance(0.5) ? mutateValue(sampled, random) : sampled
  if (typeof mutated !== 'object' || mutated === null) return `${path}?${encodeText(String(mutated))}`
  const fields = Object.entries(mutated).map(([field, value]) => `${encodeText(field)}=${encodeText(textOf(value))}`)
  if (random.chance(0.1)) fields.push(...fields)
  return `${path}?${fields.join('&')}`
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Lone surrogates too, which encodeURIComponent refuses. */
function encodeText(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(/[^\w.-]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

function mutatePath(path: string, random: Random): string {
  const inserted = random.pick([
    '%',
    '%00',
    '%ff',
    '//',
    '/../',
    '/./',
    '%2f',
    '%2e%2e',
    ';a=b',
    '?',
    '#',
    'é',
    '\\',
    ' ',
  ])
  const at = 1 + random.below(path.length)
  return random.chance(0.1) ? path.repeat(200) : path.slice(0, at) + inserted + path.slice(at)
}

function bodyOf({ endpoint, body }: Described, { validValues }: Targets, random: Random): Buffer {
  if (endpoint.method === 'GET' && !random.chance(0.05)) return Buffer.alloc(0)
  if (endpoint.body === 'multipart') return multipart(random)
  let value = sampleSchema(body ?? { type: 'object' }, validValues, random)
  if (random.chance(0.6)) value = mutateValue(value, random)
  const bytes = Buffer.from(JSON.stringify(value))
  // Bytes are not changed where a host might become the name of another machine.
  const namesHosts = endpoint.service === 'federation-fanout' || bytes.includes('https')
  return !namesHosts && random.chance(0.15) ? mutateBytes(bytes, random) : bytes
}

const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function multipart(random: Random): Buffer {
  const file = random.chance(0.5) ? mutateBytes(image, random) : image
  const name = random.pick(['file', 'file', 'other', '__proto__'])
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`
  const form = Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return random.chance(0.5) ? mutateBytes(form, random) : form
}

function headersOf({ endpoint }: Described, body: Buffer, targets: Targets, random: Random): Record<string, string> {
  const headers: Record<string, string> = { 'X-Forwarded-For': addressOf(random) }
  const type = endpoint.body === 'multipart' ? `multipart/form-data; boundary=${boundary}` : 'application/json'
  if (body.length > 0)
    headers['Content-Type'] = random.chance(0.95) ? type : random.pick(['', 'text/plain', `${type}; charset=x`])
  const token = tokenOf(endpoint, targets, random)
  if (token) headers.Authorization = `Bearer ${token}`
  if (endpoint.access === 'peer' || random.chance(0.02)) Object.assign(headers, signatureHeaders(targets, random))
  const further = [
    'X-Request-Id',
    'Range',
    'If-None-Match',
    'Cookie',
    'Accept-Encoding',
    'Origin',
    'Expect',
    'x-gatehouse-caller',
  ]
  if (random.chance(0.15)) headers[random.pick(further)] = headerText(random)
  return headers
}

/** From a few thousand networks, so that the limits of addresses refuse some requests and not most. */
export function addressOf(random: Random): string {
  if (random.chance(0.02)) return headerText(random)
  return random.chance(0.5)
    ? `198.18.${random.below(16)}.${random.below(250)}`
    : `2001:db8:${random.below(2_000).toString(16)}::1`
}

function tokenOf({ access }: Endpoint, { admin, accounts }: Targets, random: Random): string | undefined {
  if (access === 'anyone' && random.chance(0.9)) return undefined
  const account: Account = access === 'admin' && random.chance(0.9) ? admin : random.pick(accounts)
  if (random.chance(0.95)) return account.token
  const mutated = mutateBytes(Buffer.from(account.token), random).toString('latin1')
  return mutated.replace(/[^\x21-\x7e]/g, '.')
}

function signatureHeaders({ startedAt }: Targets, random: Random): Record<string, string> {
  const origin = random.pick(['https://away.example', 'https://localhost', 'null', headerText(random)])
  return {
    'X-Federation-Origin': origin,
    'X-Federation-Timestamp': random.pick([String(startedAt), '0', '-1', '1e99', headerText(random)]),
    'X-Federation-Nonce': random.pick(['6f3e9a3e-6d51-4a58-9d0c-1f7f4a1f6a3b', headerText(random)]),
    'X-Federation-Signature': random.pick([`sha256=${'0'.repeat(64)}`, 'sha256=', headerText(random)]),
  }
}

function headerText(random: Random): string {
  const text = random.chance(0.3) ? 'bytes=0-,1-2' : random.pick(hostileTexts)
  return random.chance(0.9) ? text.replace(/[^\x20-\x7e\xa0-\xff]/g, '') : text
}

function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function isRequestTarget(path: string): boolean {
  return /^\/[\x21-\x7e]*$/.test(path)
}

function rawBytes({ method, path, headers, body }: RequestCase, random: Random): Buffer {
  const length = random.chance(0.2)
    ? random.pick(['-1', '0', '99999999999999999999', '1, 2', '0x10'])
    : String(body.length)
  const framing = random.chance(0.1) ? 'Transfer-Encoding: chunked, identity\r\n' : ''
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${framing}Content-Length: ${length}\r\n${lines.join('')}\r\n`
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body])
  if (body.includes('https')) return bytes
  return random.chance(0.8) ? mutateBytes(bytes, random) : bytes
}
