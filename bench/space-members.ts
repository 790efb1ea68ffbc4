import { connectDatabase } from '@gatehouse/database'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { openRaw, type RawSocket } from './socket-raw.ts'
import { startPeer } from './socket-targets.ts'
import type { SocketTarget } from './socket-pool.ts'
import type { BenchUser } from './socket-users.ts'

const openedAtOnce = 100

/** One socket for each user, on the targets in turn. They end with `opening`. */
export async function openMembers(
  opening: AsyncDisposableStack,
  targets: readonly SocketTarget[],
  users: readonly BenchUser[],
): Promise<RawSocket[]> {
  const sockets: RawSocket[] = []
  opening.defer(() => sockets.forEach(({ socket }) => socket.destroy()))
  for (let first = 0; first < users.length; first += openedAtOnce) {
    const some = users.slice(first, first + openedAtOnce).map(({ token }, index) => {
      const place = first + index
      const target = targets[place % targets.length]!
      return openRaw(target.url, target.headers(place), token)
    })
    sockets.push(...(await Promise.all(some)))
  }
  return sockets
}

/** Bare ws servers with a socket for each user; `tell` sends a text to all of them. */
export async function openBareMembers(opening: AsyncDisposableStack, servers: number, users: readonly BenchUser[]) {
  const environment = { CANNED_READY: '{"type":"ready"}' }
  const starts = Array.from({ length: servers }, () => startPeer('./bare-sockets.ts', environment))
  const started = (await Promise.all(starts)).map((server) => opening.use(server))
  const targets = started.map(({ target }) => target)
  const sockets = await openMembers(opening, targets, users)
  return { sockets, tell: (text: string) => started.forEach((server) => server.tell(text)) }
}

/** Makes all of them members of one space. Best when they are connected: each arrival before would be told to all others. */
export async function fillSpace(cluster: Cluster, users: readonly BenchUser[]): Promise<void> {
  const orm = await connectDatabase({ url: cluster.postgres.url })
  const em = orm.em.fork()
  const ids = `{${users.map(({ id }) => id).join(',')}}`
  await em.execute(`insert into spaces (id, name, owner_id) values (1, 'Large', ?)`, [users[0]!.id])
  await em.execute('insert into space_members (space_id, user_id) select 1, unnest(?::bigint[])', [ids])
  await em.execute('analyze')
  await orm.close()
}
