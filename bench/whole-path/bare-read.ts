import { createServer } from 'node:http'
import pg from 'pg'
import { tell } from '../gateway/child.ts'

/** The least that answers GET @me from PostgreSQL: node:http and one prepared statement, no token, no check, no other header. */
const { DATABASE_URL, USER_ID } = process.env as Record<string, string>
const pool = new pg.Pool({ connectionString: DATABASE_URL!, max: 10 })

const text = `select id::text as id, username, display_name as "displayName", avatar, banner,
    accent_color as "accentColor", avatar_color as "avatarColor", bio, status, custom_status as "customStatus",
    is_admin as "isAdmin", discoverable, profile_updated_at::float8 as "profileUpdatedAt", created_at as "createdAt",
    home_instance as "homeInstance", home_user_id as "homeUserId", replicated_instances as "replicatedInstances",
    show_activity as "showActivity", password_change_required as "passwordChangeRequired",
    password_changed_at::float8 as "passwordChangedAt", federation_home_orphaned as "federationHomeOrphaned"
  from users where id = $1`

type Row = { createdAt: Date; replicatedInstances: string }

const server = createServer((_, response) => {
  void pool.query<Row>({ name: 'self', text, values: [USER_ID] }).then(({ rows: [row] }) => {
    const replicatedInstances = JSON.parse(row!.replicatedInstances) as unknown
    const body = JSON.stringify({ ...row, createdAt: row!.createdAt.getTime(), replicatedInstances })
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
})
server.keepAliveTimeout = 65_000
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as { port: number }).port }))
