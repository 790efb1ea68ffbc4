import { createServer } from 'node:http'
import pg from 'pg'
import { adminFieldNames, userReply } from '@gatehouse/contracts'
import { tell } from '../gateway/child.ts'

/** The least that answers GET @me from PostgreSQL: node:http and one prepared statement, no token, no check, no other header. */
const { DATABASE_URL, USER_IDS } = process.env as Record<string, string>
const userIds = USER_IDS!.split(',')
let next = 0
const milliseconds = ['profileUpdatedAt', 'passwordChangedAt']
const namedOtherwise: Record<string, string> = { detachedHomeInstance: 'former_home_instance' }
const notOwn: readonly string[] = ['isDeleted', ...adminFieldNames]
const columnOf = (field: string) =>
  namedOtherwise[field] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const valueOf = (field: string) =>
  `${columnOf(field)}${field === 'id' ? '::text' : milliseconds.includes(field) ? '::float8' : ''}`
const pool = new pg.Pool({ connectionString: DATABASE_URL!, max: 10 })

const text = `select ${Object.keys(userReply.shape)
  .filter((field) => !notOwn.includes(field))
  .map((field) => `${valueOf(field)} as "${field}"`)
  .join(', ')} from users where id = $1`

type Row = { createdAt: Date; replicatedInstances: string }

const server = createServer((_, response) => {
  void pool.query<Row>({ name: 'self', text, values: [userIds[next++ % userIds.length]] }).then(({ rows: [row] }) => {
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
