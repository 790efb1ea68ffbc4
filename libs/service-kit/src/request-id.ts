import type { Random } from '@gatehouse/runtime'
import type { Context } from 'koa'

export const requestIdHeader = 'x-request-id'

/** The id a request brought, when it is 1 to 128 characters of `[A-Za-z0-9._-]`, else a new one. Contract: 1. */
export function acceptRequestId(brought: string | string[] | undefined, random: Pick<Random, 'uuid'>): string {
  return typeof brought === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(brought) ? brought : random.uuid()
}

/** The id of a request that is being answered, for events, logs and requests that follow from it. */
export function requestIdOf(ctx: Context): string {
  return ctx.state.requestId as string
}
