import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { createDataFolder, databaseUrlOf, registerAccount, startEmbeddedInstance } from './embedded-instance.ts'
import { startChild } from './gateway/child.ts'
import { absoluteLine, ratioLine, type Line } from './report.ts'
import { measureInRounds, percentile, type Run } from './rounds.ts'
import { measureSteadyReads } from './steady-reads.ts'

const mails = 10_000
const usualRounds = 5
const readsOfRound = 200
const readsPerSecond = 50

/** Ten thousand mails that are due at once, to a server on this machine, and what they do to other requests. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startChild('../mail/server.ts', {}))
  const { path } = opening.use(await createDataFolder())
  const ofMail = { SMTP_URL: `smtp://127.0.0.1:${server.port}`, MAIL_FROM: 'bench@chat.example' }
  const environment = { ...ofMail, MAIL_HOURLY_LIMIT: '100000' }
  const { url } = opening.use(await startEmbeddedInstance(path, environment))
  const { token } = await registerAccount(url, 'bench_user')
  const database = await databaseUrlOf(path)
  const bare = opening.use(await startChild('../mail/bare.ts', { DATABASE: database, SMTP_PORT: String(server.port) }))
  const client = opening.adopt(new pg.Client(database), (open) => open.end())
  await client.connect()
  const outbox = openOutbox(client)
  const rounds = run.rounds(usualRounds)
  const steadily = (read: () => Promise<void>) =>
    measureSteadyReads({ count: readsOfRound, perSecond: readsPerSecond, read })
  const readAll = () => steadily(() => ask(`${url}/api/users/@me`, { authorization: `Bearer ${token}` }))
  const readBare = () => steadily(() => ask(`http://127.0.0.1:${bare.port}/`))
  const count = Math.ceil(mails / rounds)
  const rates: number[] = []
  const reads = await measureInRounds(rounds, {
    idle: readAll,
    sending: async (round) => {
      const ended = outbox.send(count)
      await outbox.begun()
      const times = await readAll()
      const rate = await ended
      if (round > 0) rates.push(rate)
      return times
    },
    bareIdle: readBare,
    bareSending: async () => {
      const ended = ask(`http://127.0.0.1:${bare.port}/send?count=${count}`)
      const times = await readBare()
      await ended
      return times
    },
  })
  return linesOf(rates, reads)
}

async function ask(url: string, headers: Record<string, string> = {}): Promise<void> {
  const answer = await fetch(url, { headers })
  await answer.text()
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
}

function openOutbox(client: pg.Client) {
  let round = 0
  const count = async (where: string): Promise<number> => {
    const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from mails where ${where}`)
    return rows[0]!.count
  }
  const ofRound = () => `id > ${round * 1_000_000}`
  return {
    /** Notices to so many accounts. Gives how many a second were sent, once all are. */
    send: async (mails: number): Promise<number> => {
      round += 1
      await client.query(
        `with people as (
           insert into users (id, username, password_hash)
           select $2::bigint + n, 'reader_' || $2::bigint + n, '!none' from generate_series(1, $1::int) n returning id
         ), addresses as (
           insert into emails (user_id, address, key, confirmed_at)
           select id, id || '@elsewhere.example', id || '@elsewhere.example', now() from people
         )
         insert into mails (id, user_id, kind, address, key, language, data, created_at, next_at, expires_at)
         select id, id, 'password_changed', id || '@elsewhere.example', id || '@elsewhere.example', 'en',
           jsonb_build_object('username', 'reader_' || id, 'at', 1750000000000), now(), now(), now() + interval '1 day'
         from people`,
        [mails, round * 1_000_000],
      )
      while ((await count(`${ofRound()} and next_at is not null`)) > 0) await pause(200)
      const failureCount = mails - (await count(`${ofRound()} and attempts = 1 and data = '{}'`))
      if (failureCount > 0) throw new Error(`${failureCount} mails were not sent at once`)
      const { rows } = await client.query<{ seconds: number }>(
        `select extract(epoch from max(tried_at) - min(tried_at))::float8 as seconds from mails where ${ofRound()}`,
      )
      return mails / rows[0]!.seconds
    },
    begun: async (): Promise<void> => {
      while ((await count(`${ofRound()} and tried_at is not null`)) === 0) await pause(20)
    },
  }
}

type Reads = Record<'idle' | 'sending' | 'bareIdle' | 'bareSending', number[][]>

function linesOf(rates: number[], { idle, sending, bareIdle, bareSending }: Reads): Line[] {
  return [
    absoluteLine({
      what: `mails a second of ${mails.toLocaleString('en')} that are due`,
      values: rates,
      peer: 'a server on the same machine',
      format: (rate) => `${rate.toFixed(0)}/s`,
      bound: { atLeast: 50 },
    }),
    p99Line('p99 of GET @me while they are sent', { idle, sending, bound: { atMost: 1.5 } }),
    p99Line('the same of bare node:http that sends them with nodemailer', {
      idle: bareIdle,
      sending: bareSending,
      bound: null,
    }),
  ]
}

type Compared = { idle: number[][]; sending: number[][]; bound: { atMost: number } | null }

function p99Line(what: string, { idle, sending, bound }: Compared): Line {
  const p99 = (values: readonly number[]) => percentile(values, 0.99)
  return ratioLine({
    what,
    ours: sending.map(p99),
    peer: { name: 'its idle p99', values: idle.map(p99) },
    // That of a single round is the second slowest read.
    whole: { ours: p99(sending.flat()), peer: p99(idle.flat()) },
    format: (ms) => `${ms.toFixed(1)} ms`,
    bound,
  })
}
