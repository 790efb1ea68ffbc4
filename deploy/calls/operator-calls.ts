import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { relative, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { callerHeader, signOperator, type SigningKeys } from '@gatehouse/auth'
import { endpoints, operatorEndpoints, type ServiceName } from '@gatehouse/contracts'
import type { Clock } from '@gatehouse/runtime'
import type { FederationReach, MailConfig, UploadStoreConfig } from '@gatehouse/service-kit'
import { z } from 'zod'

type Endpoint = { method: string; path: string; access: string; service: ServiceName }

/** The endpoints of admins, and the operator's own. */
const callable: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ...Object.entries(endpoints).filter(([, { access }]) => access === 'admin'),
  ...Object.entries(operatorEndpoints),
])

export const operatorCall = z.object({
  endpoint: z.string(),
  params: z.record(z.string(), z.string()).default({}),
  query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  body: z.record(z.string(), z.unknown()).optional(),
})
export type OperatorCall = z.input<typeof operatorCall>
export type CallAnswer = { status: number; body: Record<string, unknown> }

/** Neither a replica of the service nor the socket of an embedded instance answered. */
export class InstanceUnreachable extends Error {
  override readonly name = 'InstanceUnreachable'
}

/** A handshake with an instance that does not answer takes longest. */
const answerLimitMs = 120_000

type CallDeps = {
  services: Partial<Record<ServiceName, readonly string[]>>
  keys: SigningKeys
  clock: Pick<Clock, 'now'>
}

/** Calls as the operator. A replica that cannot be reached leaves the call to the next. Throws InstanceUnreachable. */
export async function callService({ services, keys, clock }: CallDeps, call: OperatorCall): Promise<CallAnswer> {
  const { endpoint: name, params, query, body } = operatorCall.parse(call)
  const endpoint = callable.get(name)
  if (!endpoint) return { status: 404, body: { error: `No endpoint ${name}`, statusCode: 404 } }
  const target = addressOf(endpoint, params, query)
  const replicas = services[endpoint.service] ?? []
  let cause: unknown
  for (const replica of replicas) {
    try {
      const caller = signOperator(keys, { audience: endpoint.service, now: clock.now() })
      const response = await fetch(new URL(target, replica), {
        method: endpoint.method,
        redirect: 'error',
        signal: AbortSignal.timeout(answerLimitMs),
        headers: { [callerHeader]: caller, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    } catch (error) {
      cause = error
      const { message } = ((error as Error).cause ?? error) as Error
      const fault = `the service ${endpoint.service} did not answer: ${message}; it may have been done`
      if (!isUnreached(error)) throw new InstanceUnreachable(fault, { cause })
    }
  }
  const urls = replicas.join(', ') || 'no URL'
  throw new InstanceUnreachable(`the service ${endpoint.service} cannot be reached at ${urls}`, { cause })
}

function addressOf({ path }: Endpoint, params: Record<string, string>, query: Record<string, unknown>): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  return text ? `${filled}?${text}` : filled
}

/** Whether no service can have processed the request. */
function isUnreached(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } }).cause?.code ?? ''
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(code)
}

/** In bytes, on every system. */
export const maxSocketPath = 103

/** The shorter of the absolute and the relative path. */
export function socketPathOf(dataFolder: string): string {
  const path = join(dataFolder, 'operator.sock')
  const fromHere = relative(process.cwd(), path)
  return fromHere.length < path.length ? fromHere : path
}

/** Throws InstanceUnreachable. */
export const callSocket = async (dataFolder: string, call: OperatorCall): Promise<CallAnswer> =>
  (await askSocket(dataFolder, '/call', call).catch(unreachable(dataFolder))) as CallAnswer

const runningInstance = z.object({
  databaseUrl: z.string(),
  uploadDir: z.string(),
  uploadStore: z.custom<UploadStoreConfig>((given) => typeof given === 'object' && given !== null),
  origin: z.string(),
  secrets: z.object({ jwtSecret: z.string(), internalSecret: z.string(), encryptionSecret: z.string() }),
  /** Where the file of identity providers is, and which addresses they may have. */
  providers: z.object({ file: z.string(), reach: z.custom<FederationReach>() }).optional(),
  mail: z.custom<MailConfig>().optional(),
  previousEncryptionSecrets: z.array(z.string()).readonly().default([]),
  /** Of a cluster. */
  servers: z.object({ nats: z.string(), redis: z.string() }).optional(),
})
export type RunningInstance = z.infer<typeof runningInstance>

/** Null when no instance runs on the folder. Throws InstanceUnreachable. */
export async function findRunningInstance(dataFolder: string): Promise<RunningInstance | null> {
  const asked = askSocket(dataFolder, '/instance', {}).then(({ body }) => runningInstance.parse(body))
  return await asked.catch((cause: unknown) => (isAbsent(cause) ? null : unreachable(dataFolder)(cause)))
}

async function askSocket(dataFolder: string, path: string, body: object): Promise<{ status: number; body: unknown }> {
  const headers = { 'content-type': 'application/json' }
  const sent = request({ socketPath: socketPathOf(dataFolder), path, method: 'POST', headers })
  sent.on('error', () => undefined) // one after the response ends the reading of it too
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, body: await json(response) }
}

/** A killed instance leaves its socket behind. */
function isAbsent(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ECONNREFUSED'
}

function unreachable(dataFolder: string) {
  return (cause: unknown): never => {
    throw new InstanceUnreachable(explain(cause, dataFolder), { cause })
  }
}

function explain(cause: unknown, dataFolder: string): string {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EACCES')
    return `no permission to use the socket in ${dataFolder}: run the command as the instance's user`
  if (isAbsent(cause)) return `no instance is running in ${dataFolder}: start it, or set GATEHOUSE_DATA`
  return `the instance in ${dataFolder} did not answer: ${message}`
}
