import type Router from '@koa/router'
import type { Endpoint } from '@gatehouse/contracts'
import type { ParameterizedContext } from 'koa'
import { z } from 'zod'
import { jsonBody, parseInput } from './input.ts'
import { requireAdmin, requireRight, requireUser, type AppState } from './request-state.ts'

type Row = Pick<Endpoint, 'method' | 'path' | 'access' | 'replies'> & Partial<Endpoint>
type Parsed<E, Part extends string> = E extends Record<Part, infer Schema extends z.ZodType> ? z.infer<Schema> : unknown
type InputOf<E> = Parsed<E, 'params'> & Parsed<E, 'query'> & Parsed<E, 'body'>
type Context = ParameterizedContext<AppState>

/**
 * Answers an endpoint as it is declared: who may call it, then path, query and body as one input, and the first of its
 * statuses. Where `work` gives nothing, it is a success. Contract: 1.
 */
export function answer<E extends Row>(
  router: Router<AppState>,
  endpoint: E,
  work: (input: InputOf<E>, ctx: Context) => unknown,
): void {
  const { method, path, access, right, replies, params, query, body }: Row = endpoint
  const parse = (schema: Row['body'], given: unknown) =>
    schema instanceof z.ZodType ? (parseInput(schema, given) as object) : {}
  router.register(path, [method], async (ctx: Context & { params: unknown }) => {
    if (access === 'bearer') requireUser(ctx)
    if (access === 'admin') requireAdmin(ctx)
    if (access === 'upstream') requireRight(ctx, right)
    if (body) await jsonBody(ctx, async () => undefined)
    const input = { ...parse(params, ctx.params), ...parse(query, ctx.query), ...parse(body, ctx.request.body) }
    ctx.status = Number(Object.keys(replies)[0])
    ctx.body = (await work(input as InputOf<E>, ctx)) ?? { success: true }
  })
}
