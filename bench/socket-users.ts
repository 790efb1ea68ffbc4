import { connectDatabase } from '@gatehouse/database'
import { createTokenKey, signToken } from '@gatehouse/auth'
import type { Cluster } from '../deploy/cluster/cluster.ts'

export type BenchUser = { id: string; token: string }

/** Many users with tokens, who do not know each other; the first is an admin. */
export async function createUsers(cluster: Cluster, count: number): Promise<BenchUser[]> {
  const orm = await connectDatabase({ url: cluster.postgres.url })
  const em = orm.em.fork()
  await em.execute(
    `insert into users (id, username, password_hash, is_admin)
     select 1000000000000000000 + place, 'bench_' || place, '!none', place = 0 from generate_series(0, ?) as place`,
    [count - 1],
  )
  await em.execute('analyze users')
  await orm.close()
  const key = createTokenKey(cluster.environment.JWT_SECRET!)
  // No sign-in tells a reset of this second that they are of it.
  const now = Date.now() - 5_000
  return Array.from({ length: count }, (_, place) => {
    const id = String(1_000_000_000_000_000_000n + BigInt(place))
    return { id, token: signToken(key, { userId: id, username: `bench_${place}` }, { expiresIn: '1h', now }) }
  })
}

/** Makes each user a friend of the next. */
export async function befriendAll(cluster: Cluster, count: number): Promise<void> {
  const orm = await connectDatabase({ url: cluster.postgres.url })
  await orm.em.fork().execute(
    `insert into friendships (user_id, friend_id)
     select 1000000000000000000 + place, 1000000000000000000 + place + 1 from generate_series(0, ?) as place`,
    [count - 2],
  )
  await orm.close()
}
