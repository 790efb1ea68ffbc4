import { createHmac, createSecretKey, randomUUID } from 'node:crypto'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import jwt from 'jsonwebtoken'
import { Pool } from 'undici'
import { tuneGc } from '@gatehouse/gateway'
import { tell } from './child.ts'

/**
 * What one would write with Fastify for the same checks: token, account state from Redis, signed caller, headers. Tuned as
 * their documentation offers it: secrets as key objects, and the commands of one turn of the event loop in one pipeline.
 */
const { UPSTREAM, REDIS, JWT_SECRET, INTERNAL_SECRET } = process.env as Record<string, string>
tuneGc()
const pool = new Pool(UPSTREAM!, { connections: 256, pipelining: 1 })
const redis = new Redis(REDIS!, { enableAutoPipelining: true })
const jwtKey = createSecretKey(JWT_SECRET!, 'utf8')
const internalKey = createSecretKey(INTERNAL_SECRET!, 'utf8')
const dropped = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'host',
  'authorization',
])

type Claims = { userId: string; username: string; iat: number }
type State = { isDeleted: boolean; isAdmin: boolean; username: string; passwordChangedAt: number | null }

const app = fastify({ genReqId: (request) => (request.headers['x-request-id'] as string | undefined) ?? randomUUID() })
app.get('/api/users/@me', async (request, reply) => {
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (!token) return reply.code(401).send({ error: 'Unauthorized', statusCode: 401 })
  const claims = jwt.verify(token, jwtKey, { algorithms: ['HS256'] }) as Claims
  const entry = await redis.get(`bench:${claims.userId}`)
  const state = JSON.parse(entry!) as State
  const isRevoked = state.passwordChangedAt !== null && claims.iat < Math.floor(state.passwordChangedAt / 1000)
  if (state.isDeleted || isRevoked) return reply.code(401).send({ error: 'Token has been revoked', statusCode: 401 })
  const { userId } = claims
  const caller = { address: request.ip, account: { userId, username: state.username, isAdmin: state.isAdmin } }
  const statement = Buffer.from(JSON.stringify({ ...caller, expiresAt: Date.now() + 30_000 })).toString('base64url')
  const mac = createHmac('sha256', internalKey).update(statement).digest('base64url')
  const headers: Record<string, string | string[]> = {
    'x-gatehouse-caller': `${statement}.${mac}`,
    'x-request-id': request.id,
  }
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !dropped.has(name)) headers[name] = value
  }
  const answer = await pool.request({ path: request.url, method: 'GET', headers })
  reply.code(answer.statusCode)
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined && !dropped.has(name)) reply.header(name, value)
  }
  reply.headers({
    'x-request-id': request.id,
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'cross-origin',
  })
  return reply.send(answer.body)
})

const state = { isDeleted: false, isAdmin: false, username: 'ada', passwordChangedAt: null }
await redis.set('bench:42', JSON.stringify(state))
await app.listen({ port: 0, host: '127.0.0.1' })
tell({ port: (app.server.address() as { port: number }).port })
