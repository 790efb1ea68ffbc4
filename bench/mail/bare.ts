import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { openMailer, renderMail } from '@gatehouse/mail'
import pg from 'pg'
import { tell } from '../gateway/child.ts'

/**
 * The least that a process does which answers reads and sends mails: bare node:http with one prepared statement, and for each mail,
 * one in ten milliseconds, its text, nodemailer, and an update. `GET /send?count=…` answers when all are sent.
 */
const pool = new pg.Pool({ connectionString: process.env.DATABASE, max: 10 })
await pool.query(
  'create table if not exists bare_mails (id bigint generated always as identity primary key, sent_at timestamptz)',
)
const mailer = await openMailer({
  host: '127.0.0.1',
  port: Number(process.env.SMTP_PORT),
  tls: 'none',
  from: { name: '', address: 'bench@chat.example' },
  hourlyLimit: Infinity,
})
const mailMs = 10

async function send(): Promise<void> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'due',
    text: 'insert into bare_mails default values returning id',
  })
  const { id } = rows[0]!
  const of = { kind: 'password_changed', language: 'en', instance: 'Bench', origin: 'https://chat.example' } as const
  const written = renderMail({ ...of, data: { username: `reader_${id}`, at: 1_750_000_000_000 } })
  const to = `${id}@elsewhere.example`
  const message = {
    messageId: `<${id}@chat.example>`,
    to,
    sender: 'Bench',
    language: of.language,
    at: new Date(),
    written,
  }
  const failure = await mailer.send(message)
  if (failure) throw new Error(`a mail was ${failure.outcome}`)
  await pool.query({ name: 'sent', text: 'update bare_mails set sent_at = now() where id = $1', values: [id] })
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://bench')
  const answer = async (): Promise<string> => {
    if (url.pathname === '/send') {
      const count = Number(url.searchParams.get('count'))
      await Promise.all(Array.from({ length: count }, async (_, place) => (await pause(place * mailMs), await send())))
      return '{}'
    }
    const text = 'select id::text, username, display_name, avatar, bio from users order by id limit 1'
    const { rows } = await pool.query({ name: 'self', text })
    return JSON.stringify(rows[0])
  }
  answer().then(
    (body) => response.setHeader('Content-Type', 'application/json').end(body),
    () => response.writeHead(500).end(),
  )
})
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as { port: number }).port }))
