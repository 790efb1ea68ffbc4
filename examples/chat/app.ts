import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import Router, { type RouterContext } from '@koa/router'
import { InvalidCaller, KeysUnavailable, type CallerVerifier } from '@gatehouse/upstream'
import Koa, { type Middleware } from 'koa'
import { ZodError } from 'zod'
import * as input from './input.ts'
import type { Live } from './live.ts'
import type { Store } from './store.ts'

type Deps = { store: Store; live: Live; verifier: CallerVerifier; report: (error: unknown) => void }
type State = { userId: string; body?: unknown }

/** The HTTP half. The gateway has judged token, limits and sizes; who may do what in a space is judged here. */
export function createApp(deps: Deps): Koa<State> {
  const app = new Koa<State>()
  app.use(answerErrors(deps))
  app.use(pageRoutes().routes())
  app.use(requireUser(deps))
  for (const router of [spaceRoutes(deps), channelRoutes(deps)]) app.use(router.routes())
  app.use((ctx) => ctx.throw(404, 'Not found'))
  return app
}

function spaceRoutes({ store, live }: Deps): Router<State> {
  const router = new Router<State>({ prefix: '/api/spaces' })

  /** Tells every member what the space is now. A new member is one of them. */
  async function answerSpace(ctx: RouterContext<State>, spaceId: string): Promise<void> {
    const space = await store.findSpace(spaceId, ctx.state.userId)
    if (!space) return ctx.throw(404, 'No such space')
    live.toSpace(spaceId, { type: 'chat.space', space })
    ctx.status = 201
    ctx.body = space
  }

  router.get('/', async (ctx) => {
    ctx.body = { spaces: await store.listSpaces(ctx.state.userId) }
  })
  router.post('/', body, async (ctx) => {
    const { name } = input.nameBody.parse(ctx.state.body)
    const space = await store.createSpace(ctx.state.userId, name)
    if (!space) return ctx.throw(409, 'You are in too many spaces')
    await answerSpace(ctx, space.id)
  })
  router.delete('/:spaceId', async (ctx) => {
    const { spaceId } = input.ofSpace.parse(ctx.params)
    const members = (await store.deleteSpace(spaceId, ctx.state.userId)).map(({ id }) => id)
    if (members.length === 0) return ctx.throw(404, 'No such space of yours')
    live.toUsers(members, { type: 'chat.space_deleted', spaceId })
    ctx.body = { success: true }
  })
  router.post('/:spaceId/channels', body, async (ctx) => {
    const { spaceId } = input.ofSpace.parse(ctx.params)
    const { name } = input.nameBody.parse(ctx.state.body)
    const channel = await store.createChannel(spaceId, ctx.state.userId, name)
    if (!channel) return ctx.throw(409, 'Only its owner adds channels to a space, and not too many')
    await answerSpace(ctx, spaceId)
  })
  router.get('/:spaceId/members', async (ctx) => {
    const { spaceId } = input.ofSpace.parse(ctx.params)
    if (!(await store.findSpace(spaceId, ctx.state.userId))) return ctx.throw(404, 'No such space')
    ctx.body = { members: await store.listMembers(spaceId) }
  })
  router.post('/:spaceId/members', body, async (ctx) => {
    const { spaceId } = input.ofSpace.parse(ctx.params)
    const { username } = input.inviteBody.parse(ctx.state.body)
    const space = await store.findSpace(spaceId, ctx.state.userId)
    if (space?.ownerId !== ctx.state.userId) return ctx.throw(403, 'Only its owner adds members to a space')
    if (!(await store.addMember(spaceId, username))) return ctx.throw(404, 'Nobody of that name can be added')
    await answerSpace(ctx, spaceId)
  })
  return router
}

function channelRoutes({ store, live }: Deps): Router<State> {
  const router = new Router<State>({ prefix: '/api/channels/:channelId/messages' })

  router.get('/', async (ctx) => {
    const { channelId } = input.ofChannel.parse(ctx.params)
    const { before, after } = input.page.parse(ctx.query)
    if (!(await store.findChannel(channelId, ctx.state.userId))) return ctx.throw(404, 'No such channel')
    const newestFirst = () => store.listBefore(channelId, before)
    ctx.body = { messages: after ? await store.listAfter(channelId, after) : (await newestFirst()).reverse() }
  })
  // Over HTTP and not over the socket: what was answered is in the database, whatever ends in the next moment.
  router.post('/', body, async (ctx) => {
    const { channelId } = input.ofChannel.parse(ctx.params)
    const { text } = input.messageBody.parse(ctx.state.body)
    const written = await store.writeMessage(channelId, ctx.state.userId, text)
    if (!written) return ctx.throw(404, 'No such channel')
    const { spaceId, ...message } = written
    live.toSpace(spaceId, { type: 'chat.message', message })
    ctx.status = 201
    ctx.body = message
  })
  router.delete('/:messageId', async (ctx) => {
    const { messageId } = input.ofMessage.parse(ctx.params)
    const deleted = await store.deleteMessage(messageId, ctx.state.userId)
    if (!deleted) return ctx.throw(404, 'No such message of yours')
    live.toSpace(deleted.spaceId, { type: 'chat.message_deleted', messageId, channelId: deleted.channelId })
    ctx.body = { success: true }
  })
  return router
}

const files = { '/api/chat': 'index.html', '/api/chat/page.js': 'page.js', '/api/chat/page.css': 'page.css' }
/** Without one of its own a response is no page: the gateway then sends a policy that allows nothing. */
const contentPolicy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';
  connect-src 'self' ws: wss:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`.replaceAll('\n', '')

function pageRoutes(): Router {
  const router = new Router()
  for (const [path, file] of Object.entries(files)) {
    router.get(path, async (ctx) => {
      ctx.type = file.slice(file.lastIndexOf('.'))
      ctx.set({ 'Content-Security-Policy': contentPolicy, 'Cache-Control': 'no-cache' })
      ctx.body = await readFile(join(import.meta.dirname, 'page', file))
    })
  }
  return router
}

/** The gateway limits its size. */
const body: Middleware<State> = async (ctx, next) => {
  ctx.state.body = await json(ctx.req)
  await next()
}

/** Nobody else than the gateway can make the statement, so the service may be reached by others too. */
function requireUser({ verifier }: Deps): Middleware<State> {
  return async (ctx, next) => {
    const { user } = await verifier.verify(ctx.headers)
    if (!user) return ctx.throw(401, 'A token is required')
    ctx.state.userId = user.userId
    await next()
  }
}

/** The shape of Gatehouse's own errors. */
function answerErrors({ report }: Deps): Middleware {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const [status, message] = describe(error)
      if (status === 500) report(error)
      if (status === 503) ctx.set('Retry-After', '1')
      ctx.status = status
      ctx.body = { error: message, statusCode: status }
    }
  }
}

function describe(error: unknown): [status: number, message: string] {
  if (error instanceof InvalidCaller) return [503, 'The request did not come through the gateway']
  if (error instanceof SyntaxError) return [400, 'The body is not JSON']
  if (error instanceof ZodError)
    return [400, error.issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim()).join('; ')]
  const { status, expose, message, code } = error as Error & { status?: number; expose?: boolean; code?: string }
  if (status && expose) return [status, message]
  // What the service stands on is away.
  if (error instanceof KeysUnavailable || /^(ECONN|ENOTFOUND|08|57P)/.test(code ?? '')) return [503, 'Try again']
  return [500, 'Internal error']
}
