import type Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { requestIdOf, requireUser, type AppState } from '@gatehouse/service-kit'
import type { SocketLists } from '../sessions/socket-lists.ts'

/** Contract: 3, sockets. */
export function addSocketRoutes(router: Router<AppState>, { socketLists }: { socketLists: SocketLists }): void {
  router.get(endpoints.listSockets.path, async (ctx) => {
    ctx.body = await socketLists.list(requireUser(ctx).userId, requestIdOf(ctx))
  })
}
