import pg from 'pg'
import { createDataFolder, databaseUrlOf, registerAccount, startEmbeddedInstance } from './embedded-instance.ts'
import type { Line } from './report.ts'
import { timeOf, type Run } from './rounds.ts'
import { measureGrowth, type Operations } from './scale/growth.ts'

const many = 100_000
const few = 1_000
/** Of one registration in the middle, in a reason that only it has. */
const rareWord = 'lighthouse'

/** What an admin sees of the registrations that wait, where many do. Design: budgets, lists. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const open = async (count: number) => ({ count, operations: await openQueue(opening, count) })
  const [small, large] = [await open(few), await open(many)]
  const limits = Object.fromEntries(Object.keys(large.operations).map((name) => [name, 20]))
  return await measureGrowth({ large, small, unit: 'that wait', limits, rounds: run.rounds(10) })
}

async function openQueue(opening: AsyncDisposableStack, count: number): Promise<Operations> {
  const folder = opening.use(await createDataFolder())
  const { url } = opening.use(await startEmbeddedInstance(folder.path))
  const { token } = await registerAccount(url, 'bench_admin')
  await seed(folder.path, count)
  const list = (query: Record<string, string>) => async () =>
    await timeOf(async () => {
      const path = `/api/admin/registrations?${new URLSearchParams({ limit: '50', ...query }).toString()}`
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
      const { total } = JSON.parse(text) as { total: number }
      if (query['q'] === rareWord && total !== 1) throw new Error(`${path} found ${total}`)
    })
  return {
    'the queue of registrations': list({}),
    'its page in the middle': list({ cursor: String(count / 2) }),
    'a search that all match': list({ q: 'newcomer' }),
    'a search that one matches': list({ q: rareWord }),
    'a search that none matches': list({ q: 'xylophone' }),
    'a search of two characters that none matches': list({ q: 'qx' }),
  }
}

async function seed(folder: string, count: number): Promise<void> {
  const client = new pg.Client(await databaseUrlOf(folder))
  await client.connect()
  try {
    await client.query('set synchronous_commit = off')
    await client.query(
      `insert into registrations (id, receipt_hash, created_at, username, password_hash, display_name, avatar_color, reason,
         network, client)
       select n, 'receipt ' || n, now() - interval '1 day' + n * interval '1 ms', 'newcomer_' || n, '!none',
         'Newcomer ' || n, 'mint', case when n = $1::int / 2 then $2::text else md5(n::text) end
           || ' told me about this place, and I would like to talk about birds',
         '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256, 'Firefox on Linux'
       from generate_series(1, $1::int) n`,
      [count, rareWord],
    )
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}
