import type Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { bigintArray, read } from '@gatehouse/database'
import { answer, requestIdOf, requireUser, type AppState } from '@gatehouse/service-kit'
import type { OperationContext } from '../context.ts'
import type { RemotePresences } from '../presence/presence-feed.ts'
import type { SocketLists } from '../sessions/socket-lists.ts'

type Deps = Pick<OperationContext, 'orm'> & { remotePresences: RemotePresences; socketLists: SocketLists }

/** What users ask about their sockets, and upstreams about presences. Contract: 3, sockets; 3, upstreams. */
export function addRoutes(router: Router<AppState>, deps: Deps): void {
  answer(router, endpoints.listSockets, (_, ctx) => deps.socketLists.list(requireUser(ctx).userId, requestIdOf(ctx)))
  answer(router, endpoints.readPresences, async ({ ids }) => ({ presences: await readPresences(deps, ids) }))
}

/** Only who is online. Users see no more of each other. */
async function readPresences({ orm, remotePresences }: Deps, ids: readonly string[]) {
  const sql = `select id::text as id from users where id = any(?::bigint[]) and status = 'online' and not is_deleted`
  const rows = await read<{ id: string }>(orm.em.fork(), sql, [bigintArray(ids)])
  const online = [...rows.map(({ id }) => id), ...ids.filter(remotePresences.isOnline)]
  return Object.fromEntries(online.map((id) => [id, 'online' as const]))
}
