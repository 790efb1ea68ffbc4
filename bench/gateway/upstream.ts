import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { tell } from './child.ts'

/** Stands in for identity: answers at once, and knows every account. */
const user = JSON.stringify({
  id: '42',
  username: 'ada',
  displayName: 'Ada',
  avatar: null,
  bio: 'x'.repeat(150),
  status: 'online',
  isAdmin: false,
  createdAt: 1_700_000_000_000,
})
const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(Buffer.byteLength(user)) }

const server = createServer((request, response) => {
  if (request.url === '/internal/account-states') return void answerStates(request, response)
  response.writeHead(200, { ...headers, 'X-Request-Id': request.headers['x-request-id'] ?? 'none' })
  response.end(user)
})
server.keepAliveTimeout = 65_000
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as { port: number }).port }))

async function answerStates(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { userIds } = JSON.parse(await text(request)) as { userIds: string[] }
  const states = userIds.map((userId) => ({
    userId,
    version: 1,
    username: 'ada',
    isDeleted: false,
    isAdmin: false,
    passwordChangedAt: null,
    sessionsEndedAt: null,
  }))
  response.end(JSON.stringify({ states }))
}
