import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { accountStatesQuery, type AccountState } from '@gatehouse/contracts'

export type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string }
export type Behave = (request: IncomingMessage, response: ServerResponse) => unknown

/** A service behind the gateway with a configurable response, which tracks its connections. */
export type StubService = AsyncDisposable & {
  url: string
  server: Server
  seen: Seen[]
  sockets: Set<Socket>
  /** The account states that it has as identity. */
  states: Map<string, AccountState>
  stateQueries: number
  /** So many of the next queries for account states get no answer. */
  silentStateQueries: number
  /** As many after them lose their connection. */
  brokenStateQueries: number
  behave: Behave
}

export async function startStub(port = 0, host = '127.0.0.1'): Promise<StubService> {
  const server = createServer({ maxHeaderSize: 64 * 1024 })
  const stub: StubService = {
    url: '',
    server,
    seen: [],
    sockets: new Set(),
    states: new Map(),
    stateQueries: 0,
    silentStateQueries: 0,
    brokenStateQueries: 0,
    behave: echo,
    [Symbol.asyncDispose]: async () => {
      server.close()
      for (const socket of stub.sockets) socket.destroy()
    },
  }
  server.on('connection', (socket: Socket) => {
    stub.sockets.add(socket)
    socket.once('close', () => stub.sockets.delete(socket))
  })
  server.on('request', (request, response) => {
    if (request.url === accountStatesQuery.path) return void answerStateQuery(stub, request, response)
    stub.behave(request, response)
  })
  server.listen(port, host)
  await once(server, 'listening')
  stub.url = `http://${host}:${(server.address() as AddressInfo).port}`

  async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    stub.seen.push({ method, url, headers, body: await text(request) })
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ method, url }))
  }
  return stub
}

async function answerStateQuery(stub: StubService, request: IncomingMessage, response: ServerResponse): Promise<void> {
  stub.stateQueries += 1
  if (stub.silentStateQueries > 0) {
    stub.silentStateQueries -= 1
    return
  }
  if (stub.brokenStateQueries > 0) {
    stub.brokenStateQueries -= 1
    return void request.socket.destroy()
  }
  const { userIds } = accountStatesQuery.request.parse(JSON.parse(await text(request)))
  const states = userIds.flatMap((userId) => stub.states.get(userId) ?? [])
  response.end(JSON.stringify({ states }))
}
