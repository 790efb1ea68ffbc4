import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { SigningKeys } from '@gatehouse/auth'
import { limits, type ServiceName } from '@gatehouse/contracts'
import type { Clock } from '@gatehouse/runtime'
import type { Log } from '@gatehouse/service-kit'
import { callService, maxSocketPath, operatorCall, socketPathOf } from '../calls/operator-calls.ts'
import type { CallAnswer, RunningInstance } from '../calls/operator-calls.ts'

type Options = {
  /** Locked by this process. */
  dataFolder: string
  keys: SigningKeys
  services: Partial<Record<ServiceName, readonly string[]>>
  /** For a backup. */
  instance: RunningInstance
  clock: Clock
  log: Log
}

/** The command line of the instance's user acts as the operator. docs/decisions/caller-identity.md. */
export async function openOperatorSocket(options: Options): Promise<AsyncDisposable> {
  const { dataFolder, log } = options
  const path = socketPathOf(dataFolder)
  if (Buffer.byteLength(path) > maxSocketPath) {
    log.warn({ dataFolder }, 'the path of the data folder is too long for a socket: the command line cannot be used')
    return { [Symbol.asyncDispose]: async () => undefined }
  }
  const server = createServer((request, response) => void answer(options, request, response))
  await rm(path, { force: true }) // left by a process that was killed
  await listenPrivately(server, path)
  server.on('error', (err) => log.error({ err }, 'the socket of the command line failed'))
  return server
}

/** A later chmod would leave a moment in which others can connect. */
async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening')
  const mask = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(mask)
  }
  await listening
}

async function answer(deps: Options, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await forward(deps, request)
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(body))
}

async function forward(deps: Options, request: IncomingMessage): Promise<CallAnswer> {
  try {
    if (Number(request.headers['content-length'] ?? Infinity) > limits.jsonBodyBytes)
      return refusal(413, 'The call is too large')
    if (request.url === '/instance') return { status: 200, body: deps.instance }
    const call = operatorCall.safeParse(JSON.parse(await text(request)))
    if (!call.success) return refusal(400, 'This is not a call of the command line')
    return await callService(deps, call.data)
  } catch (err) {
    if (err instanceof SyntaxError) return refusal(400, 'This is not a call of the command line')
    deps.log.error({ err }, 'a call of the command line failed')
    return refusal(502, 'A service of the instance did not answer')
  }
}

const refusal = (statusCode: number, error: string): CallAnswer => ({ status: statusCode, body: { error, statusCode } })
