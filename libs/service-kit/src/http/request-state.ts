import { callerHeader, type Caller, type CallerVerifier } from '@gatehouse/auth'
import type { ActingAdmin } from '@gatehouse/authority'
import type { Endpoint, UpstreamRight } from '@gatehouse/contracts'
import { operator } from '@gatehouse/domain'
import { refuse, type Clock, type Random, type Refusal } from '@gatehouse/runtime'
import type Router from '@koa/router'
import type { Middleware, ParameterizedContext } from 'koa'
import { z } from 'zod'
import { jsonBody, parseInput } from './input.ts'
import { readForm } from './read-body.ts'

/** `body`: of a JSON request before it is parsed, or of a form. */
export type AppState = { requestId: string; caller: Caller; body?: unknown }
type WithState = { state: AppState }

export const requestIdHeader = 'x-request-id'

/** Takes over the client's id if it has the form, else makes one. Contract: 1, request ids. */
export function acceptRequestId(brought: string | string[] | undefined, random: Pick<Random, 'uuid'>): string {
  return typeof brought === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(brought) ? brought : random.uuid()
}

export const requestIdOf = (ctx: WithState): string => ctx.state.requestId

export function sendRefusal(ctx: ParameterizedContext, { status, headers, body }: Refusal): void {
  ctx.status = status
  ctx.set(headers)
  ctx.body = body
}

/** Below it are the endpoints of upstreams, and no others. */
const upstreamPaths = '/api/upstream/'

/** An upstream is the caller of its own endpoints alone, whatever others demand. Design: invariant 6. */
export function requireCaller(deps: { verifyCaller: CallerVerifier; clock: Clock }): Middleware<AppState> {
  return async (ctx, next) => {
    const caller = deps.verifyCaller(ctx.get(callerHeader), deps.clock.now())
    if (!caller || (caller.upstream && !ctx.path.startsWith(upstreamPaths))) throw refuse.forbidden()
    ctx.state.caller = caller
    await next()
  }
}

export const callerOf = (ctx: WithState): Caller => ctx.state.caller

/** Throws unauthorized. */
export function requireUser(ctx: WithState): NonNullable<Caller['account']> {
  const { account } = ctx.state.caller
  if (!account) throw refuse.unauthorized()
  return account
}

/** Throws unauthorized or admin_required. Spec: Bearer tokens. */
export function requireAdmin(ctx: WithState): ActingAdmin {
  if (ctx.state.caller.operator) return operator
  const account = requireUser(ctx)
  if (!account.isAdmin) throw refuse.admin_required()
  return account
}

/** Throws statement_invalid or right_missing. Contract: 3, upstreams. */
export function requireRight(ctx: WithState, right: UpstreamRight | undefined): void {
  const { upstream } = ctx.state.caller
  if (!upstream) throw refuse.statement_invalid()
  if (!right || !upstream.rights.includes(right)) throw refuse.right_missing()
}

/** Throws not_found. */
export const operatorsOnly: Middleware<AppState> = async (ctx, next) => {
  if (!ctx.state.caller.operator) throw refuse.not_found()
  await next()
}

type Row = Pick<Endpoint, 'method' | 'path' | 'access' | 'replies'> & Partial<Endpoint>
type Parsed<E, Part extends string> = E extends Record<Part, infer Schema extends z.ZodType> ? z.infer<Schema> : unknown
type InputOf<E> = Parsed<E, 'params'> & Parsed<E, 'query'> & Parsed<E, 'body'>
type Context = ParameterizedContext<AppState>

/**
 * Answers an endpoint as it is declared: who may call it, then path, query and body as one input, and the first of its
 * statuses. Where `work` gives nothing, it is a success. Contract: 1, statuses.
 */
export function answer<E extends Row>(
  router: Router<AppState>,
  endpoint: E,
  work: (input: InputOf<E>, ctx: Context) => unknown,
): void {
  const { method, path, access, right, replies, params, query, body }: Row = endpoint
  const parse = (schema: Row['body'], value: unknown) =>
    schema instanceof z.ZodType ? (parseInput(schema, value) as object) : {}
  router.register(path, [method], async (ctx: Context & { params: unknown }) => {
    if (access === 'bearer') requireUser(ctx)
    if (access === 'admin') requireAdmin(ctx)
    if (access === 'upstream') requireRight(ctx, right)
    if (body instanceof z.ZodType) await jsonBody(ctx, async () => undefined)
    if (body === 'form') ctx.state.body = await readForm(ctx)
    const input = { ...parse(params, ctx.params), ...parse(query, ctx.query), ...parse(body, ctx.state.body) }
    ctx.status = Number(Object.keys(replies)[0])
    ctx.body = (await work(input as InputOf<E>, ctx)) ?? { success: true }
  })
}
