import { readAccountStates } from '@gatehouse/database'
import Router from '@koa/router'
import { snowflake } from '@gatehouse/contracts'
import { jsonBody, parseInput } from '@gatehouse/service-kit'
import { z } from 'zod'
import type { Deps } from '../deps.ts'

const body = z.object({ userIds: z.array(snowflake).max(10_000) })

/** What the gateway asks when its cache does not know. Never reached from outside. Design: invariant 1. */
export function accountStateRoutes({ orm }: Pick<Deps, 'orm'>): Router {
  const router = new Router()
  router.post('/internal/account-states', jsonBody, async (ctx) => {
    const { userIds } = parseInput(body, ctx.request.body)
    ctx.body = { states: await readAccountStates(orm.em.fork(), userIds) }
  })
  return router
}
