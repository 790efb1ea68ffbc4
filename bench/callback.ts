import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startIdentityProvider, type TestIdentityProvider } from '@gatehouse/test-kit'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { createDataFolder, databaseUrlOf, registerAccount, startEmbeddedInstance } from './embedded-instance.ts'
import { cpuOf } from './gateway/child.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, median, timeOf, type Run } from './rounds.ts'

const loginsOfRound = 60
const sub = 'ada'

/** Of one login, or of a step of it. */
type Cost = { micros: number; ms: number }
type Step = 'start' | 'callback' | 'finish'

/** A login through an identity provider beside one with a password whose hash costs nearly nothing. The provider runs in this process. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const provider = opening.use(await startIdentityProvider({ accounts: [{ sub, preferred_username: sub }] }))
  const { path } = opening.use(await createDataFolder())
  const file = join(opening.use(await createDataFolder()).path, 'providers.json')
  const { issuer, clientId, clientSecret } = provider
  await writeFile(file, JSON.stringify({ providers: [{ id: 'own', name: 'Own', issuer, clientId, clientSecret }] }))
  const environment = { GATEHOUSE_PROVIDERS: file, FEDERATION_ALLOW_PRIVATE: 'loopback', TRUST_PROXY: 'loopback' }
  const instance = opening.use(await startEmbeddedInstance(path, environment))
  const { username, password } = await registerAccount(instance.url, 'bench_user')
  await weakenHash(path, password)
  const { send, measure } = openClient(instance)
  const ways = waysOf(send, provider)
  await ways.register()
  const logIn = () => send('POST', '/api/auth/login', { body: { username, password } })
  const rounds = await measureInRounds<'password' | 'provider', Cost | Record<Step, Cost>>(run.rounds(10), {
    password: () => measure(Array.from({ length: loginsOfRound }, () => logIn)),
    provider: async () => {
      const started: Sent[] = []
      const start = await measure(
        Array.from({ length: loginsOfRound }, () => async () => started.push(await ways.start())),
      )
      const tickets: string[] = []
      const callback = await measure(ways.back(started).map((each) => async () => tickets.push(await each())))
      const finish = await measure(tickets.map((ticket) => () => ways.finish({ ticket })))
      return { start, callback, finish }
    },
  })
  return linesOf(rounds as { password: Cost[]; provider: Record<Step, Cost>[] })
}

/** With cost 4 it takes a millisecond. */
async function weakenHash(folder: string, password: string): Promise<void> {
  const client = new pg.Client(await databaseUrlOf(folder))
  await client.connect()
  await client.query('update users set password_hash = $1', [await bcrypt.hash(password, 4)])
  await client.end()
}

type Sent = { headers: Headers; body: Record<string, unknown> }
type RequestOptions = { body?: object; cookie?: string }

function openClient({ url, pid }: { url: string; pid: number }) {
  let calls = 0
  return {
    /** Each of another address, as a proxy would tell it. */
    send: async (method: string, path: string, { body, cookie }: RequestOptions = {}): Promise<Sent> => {
      calls += 1
      const headers = {
        'x-forwarded-for': `10.${calls >> 16}.${(calls >> 8) & 255}.${calls & 255}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(cookie && { cookie }),
      }
      const sent = { method, headers, redirect: 'manual', ...(body && { body: JSON.stringify(body) }) } as const
      const answer = await fetch(url + path, sent)
      const text = await answer.text()
      if (answer.status >= 400) throw new Error(`${path} answered ${answer.status}: ${text}`)
      return { headers: answer.headers, body: text ? (JSON.parse(text) as Sent['body']) : {} }
    },
    /** Each after the other. */
    measure: async (calls: (() => Promise<unknown>)[]): Promise<Cost> => {
      const before = cpuOf(pid)
      const times: number[] = []
      for (const call of calls) times.push(await timeOf(call))
      return { micros: ((cpuOf(pid) - before) * 1e6) / calls.length, ms: median(times) }
    },
  }
}

type Send = ReturnType<typeof openClient>['send']

/** What the browser does. */
function waysOf(send: Send, provider: TestIdentityProvider) {
  const start = () => send('POST', '/api/auth/providers/own/start', { body: { purpose: 'login' } })
  const finish = (body: object) => send('POST', '/api/auth/providers/finish', { body })
  const back = (started: readonly Sent[]) =>
    started.map(({ headers, body }) => {
      const { pathname, search } = provider.signIn(String(body['url']), sub)
      const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
      return async () => {
        const { headers: answered } = await send('GET', pathname + search, { cookie })
        const [, fragment] = (answered.get('location') ?? '').split('#')
        const ticket = new URLSearchParams(fragment).get('ticket')
        if (!ticket) throw new Error(`no ticket: ${fragment}`)
        return ticket
      }
    })
  const register = async () => finish({ ticket: await back([await start()])[0]!(), username: sub })
  return { start, back, finish, register }
}

function linesOf({ password, provider }: { password: Cost[]; provider: Record<Step, Cost>[] }): Line[] {
  const line = (what: string, ours: number[], key: keyof Cost, atMost: number | null) =>
    ratioLine({
      what: `${what}: ${key === 'micros' ? 'CPU of the Node process' : 'milliseconds, one at a time'}`,
      ours,
      peer: { name: 'a password login without its hash', values: password.map((cost) => cost[key]) },
      format: (value) => (key === 'micros' ? `${value.toFixed(0)} µs` : `${value.toFixed(1)} ms`),
      bound: atMost === null ? null : { atMost },
    })
  const [callback, whole] = ['callback of an identity provider', 'login through an identity provider, three requests']
  const sum = (key: keyof Cost) =>
    provider.map(({ start, callback, finish }) => start[key] + callback[key] + finish[key])
  return [
    line(
      callback,
      provider.map((steps) => steps.callback.micros),
      'micros',
      1.5,
    ),
    line(
      callback,
      provider.map((steps) => steps.callback.ms),
      'ms',
      1.5,
    ),
    line(whole, sum('micros'), 'micros', null),
    line(whole, sum('ms'), 'ms', null),
  ]
}
