import { createTokenKey, signToken } from '@gatehouse/auth'
import { connectDatabase } from '@gatehouse/database'
import { startRedis } from '@gatehouse/test-kit'
import {
  createDataFolder,
  databaseUrlOf,
  registerAccount,
  startEmbeddedInstance,
  type EmbeddedInstance,
} from './embedded-instance.ts'
import { cpuOf, residentMegabytes, startChild } from './gateway/child.ts'
import { driveRound, type Contender, type Round } from './gateway/drive.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, type Run } from './rounds.ts'

const usualRounds = 7
const seconds = 2
const secrets = { JWT_SECRET: 'j'.repeat(32), INTERNAL_SECRET: 'i'.repeat(32) }
const accounts = 200
const accountPath = '/api/users/@me'

/**
 * GET @me through everything, in one instance as `npm start` runs it, access log included: beside node:http that answers the
 * same bytes from the same PostgreSQL server, and beside the gateway alone with a service that answers at once. Design:
 * budgets.
 */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const folder = opening.use(await createDataFolder())
  const instance = opening.use(await startEmbeddedInstance(folder.path, { ...secrets, LOG_LEVEL: 'info' }))
  const { token } = await registerAccount(instance.url, 'ada')
  const others = await createAccounts(await databaseUrlOf(folder.path))
  const load = opening.use(await startChild('load.ts', {}))
  const { bare, gateway } = await startPeers(opening, {
    folder: folder.path,
    instance,
    token,
    ids: others.map(({ id }) => id),
  })
  const ours = { name: 'Gatehouse', child: measurable(instance) }
  const tokens = [token, ...others.map((other) => other.token)]
  const drive = (contender: Contender) => () => driveRound(load, contender, { token: tokens, seconds })
  return linesOf(
    await measureInRounds(run.rounds(usualRounds), { bare: drive(bare), gateway: drive(gateway), ours: drive(ours) }),
  )
}

function measurable({ port, pid }: EmbeddedInstance): Contender['child'] {
  return { port, cpuSeconds: () => cpuOf(pid), megabytes: () => residentMegabytes(pid) }
}

/** All but the first of the accounts, with their tokens. */
async function createAccounts(databaseUrl: string): Promise<{ id: string; token: string }[]> {
  const orm = await connectDatabase({ url: databaseUrl })
  const rows = await orm.em.fork().execute<{ id: string; username: string }[]>(
    `insert into users (id, username, password_hash) select next_snowflake(), 'reader_' || place, '!none'
     from generate_series(2, ?) as place returning id::text, username`,
    [accounts],
  )
  await orm.close()
  const key = createTokenKey(secrets.JWT_SECRET)
  return rows.map(({ id, username }) => {
    return { id, token: signToken(key, { userId: id, username }, { expiresIn: '1h', now: Date.now() }) }
  })
}

type Measured = { folder: string; instance: EmbeddedInstance; token: string; ids: string[] }

async function startPeers(opening: AsyncDisposableStack, { folder, instance, token, ids }: Measured) {
  const answer = await fetch(instance.url + accountPath, { headers: { authorization: `Bearer ${token}` } })
  const body = await answer.text()
  const environment = {
    DATABASE_URL: await databaseUrlOf(folder),
    USER_IDS: [(JSON.parse(body) as { id: string }).id, ...ids].join(','),
  }
  const bare = opening.use(await startChild('../whole-path/bare-read.ts', environment))
  const bareBody = await (await fetch(`http://127.0.0.1:${bare.port}${accountPath}`)).text()
  if (bareBody !== body) throw new Error(`the peer answers ${bareBody}, the instance ${body}`)
  const redis = opening.use(await startRedis())
  const upstream = opening.use(await startChild('upstream.ts', {}))
  const settings = { ...secrets, UPSTREAM: `http://127.0.0.1:${upstream.port}`, REDIS: redis.url }
  const gateway = opening.use(await startChild('ours.ts', settings))
  return { bare: { name: 'bare', child: bare }, gateway: { name: 'gateway', child: gateway } }
}

function linesOf({ bare, gateway, ours }: Record<'bare' | 'gateway' | 'ours', Round[]>): Line[] {
  const micros = (value: number): string => `${value.toFixed(0)} µs`
  const rate = (value: number): string => `${value.toFixed(0)} req/s`
  const milliseconds = (value: number): string => `${value.toFixed(1)} ms`
  const bareName = 'node:http and one prepared statement'
  const what = `GET @me through everything, embedded, ${accounts} accounts in turn`
  return [
    ratioLine({
      what: `${what}: user and system time of the Node process a request`,
      ours: ours.map(({ cpuMicros }) => cpuMicros),
      peer: { name: 'the gateway alone', values: gateway.map(({ cpuMicros }) => cpuMicros) },
      format: micros,
      bound: { atMost: 1.5 },
    }),
    ratioLine({
      headline: 'GET @me per second, everything in one process (more is better)',
      what: `${what}: requests a second on 64 connections`,
      ours: ours.map(({ perSecond }) => perSecond),
      peer: { name: bareName, values: bare.map(({ perSecond }) => perSecond) },
      format: rate,
      bound: { atLeast: 0.7 },
    }),
    ratioLine({
      what: `${what}: p99 of them`,
      ours: ours.map(({ p99Ms }) => p99Ms),
      peer: { name: bareName, values: bare.map(({ p99Ms }) => p99Ms) },
      format: milliseconds,
      bound: { atMost: 2 },
    }),
  ]
}
