/**
 * The peer of the handshakes: a ws server that verifies the token, sends the statements of a batch and one message a user to
 * NATS, and nothing else. It gathers for 5 ms, as the session gateway does. bench/NOTES.md.
 */
import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { connect } from 'nats'
import pg from 'pg'
import { WebSocketServer, type WebSocket } from 'ws'

const { CANNED_READY: ready, DATABASE_URL, NATS_URL, JWT_SECRET, NODE_ID } = process.env as Record<string, string>
const gatherMs = 5
const key = createTokenKey(JWT_SECRET!)
const pool = new pg.Pool({ connectionString: DATABASE_URL!, max: 4 })
const nats = await connect({ servers: NATS_URL! })
let batch = new Map<string, WebSocket>()
let isRunning = false

const lock = `select users.*, instance_name, instance_id from users cross join instance_settings
  where users.id = any($1::bigint[]) order by users.id for no key update of users skip locked`
const write = `with added as (
    insert into presences (user_id, node_id) select unnest($1::bigint[]), $2::uuid on conflict do nothing
  ), shown as (
    update users set status = 'online' where id = any($1::bigint[]) and status <> 'online' returning id
  ) insert into presence_changes (user_id, node_id) select id, $2::uuid from shown
    on conflict (user_id) do update set changed = excluded.changed, node_id = excluded.node_id`
const audience = `with membership as materialized (
    select user_id, space_id from space_members where user_id = any($1::bigint[])
  ), link as (
    select user_id, friend_id as other from friendships where user_id = any($1::bigint[])
    union select friend_id, user_id from friendships where friend_id = any($1::bigint[])
    union select mine.user_id, theirs.user_id from dm_members mine join dm_members theirs using (channel_id)
      where mine.user_id = any($1::bigint[]) and theirs.user_id <> mine.user_id
  ), members as (
    select distinct space_id, presences.user_id from (select distinct space_id from membership) as spaces
    join space_members using (space_id) join presences using (user_id)
  )
  select 'spaces' as kind, user_id::text as id, string_agg(space_id::text, ',') as ids from membership group by user_id
  union all select 'members', space_id::text, string_agg(user_id::text, ',') from members group by space_id
  union all select 'linked', link.user_id::text, string_agg(distinct other::text, ',')
    from link join presences on presences.user_id = other group by link.user_id`

async function settle(): Promise<void> {
  const sockets = batch
  batch = new Map()
  const ids = [...sockets.keys()]
  const client = await pool.connect()
  await client.query('begin')
  await client.query({ name: 'lock', text: lock, values: [ids] })
  await client.query({ name: 'write', text: write, values: [ids, NODE_ID] })
  await client.query('commit')
  await client.query({ name: 'audience', text: audience, values: [ids] })
  client.release()
  for (const [id, socket] of sockets) {
    nats.publish('bench.presence', JSON.stringify({ id }))
    socket.send(ready!)
  }
  isRunning = false
  if (batch.size > 0) schedule()
}

function schedule(): void {
  if (isRunning) return
  isRunning = true
  setTimeout(() => void settle(), gatherMs)
}

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
server.on('connection', (socket) => {
  socket.once('message', (data) => {
    const { token } = JSON.parse(String(data)) as { token: string }
    const claims = verifyToken(key, token, Date.now())
    if (!claims) return socket.close()
    batch.set(claims.userId, socket)
    schedule()
  })
})
server.on('listening', () => process.send!((server.address() as { port: number }).port))
process.on('disconnect', () => process.exit(0))
