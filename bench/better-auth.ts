import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, startEphemeralPostgres } from '@gatehouse/local-servers'
import { startCluster } from '../deploy/cluster/cluster.ts'
import { createDataFolder, registerAccount, startEmbeddedInstance } from './embedded-instance.ts'
import { cpuOf, residentMegabytes, startChild, type Child } from './gateway/child.ts'
import { driveRound, type Contender, type Round } from './gateway/drive.ts'
import { absoluteLine, ratioLine, type Line } from './report.ts'
import { measureInRounds, type Run } from './rounds.ts'
import { measureRate } from './measure-rate.ts'

const loginsAtOnce = 8
const loginsMs = 5_000
const folder = join(import.meta.dirname, 'better-auth')
const peer = 'better-auth'
const secret = randomBytes(32).toString('hex')

/** What a TypeScript team would pick instead, with the same PostgreSQL, hash and Node. Installed for this run alone. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder })
  await using postgres = await startEphemeralPostgres({ settings: {} })
  using theirs = await startTheirs(postgres.url)
  using theirSecond = await startTheirs(postgres.url)
  const lines = await measureOneProcess(run, theirs)
  lines.push(await measureRevocation(run, [theirs, theirSecond]))
  return lines
}

async function startTheirs(databaseUrl: string): Promise<Child> {
  const settings = { DATABASE_URL: databaseUrl, SECRET: secret, PORT: String(await freePort()) }
  return await startChild('../better-auth/server.js', settings)
}

async function measureOneProcess(run: Run, theirs: Child): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const data = opening.use(await createDataFolder())
  const ours = opening.use(await startEmbeddedInstance(data.path, { TRUST_PROXY: 'loopback' }))
  const { token, username, password } = await registerAccount(ours.url, 'ada')
  const url = `http://127.0.0.1:${theirs.port}`
  const theirToken = await signUp(url, 'ada')
  const load = opening.use(await startChild('load.ts', {}))
  const own = { port: ours.port, cpuSeconds: () => cpuOf(ours.pid), megabytes: () => residentMegabytes(ours.pid) }
  const drive = (contender: Contender, order: { token: string; path?: string }) => () =>
    driveRound(load, contender, { ...order, seconds: 2 })
  const reads = await measureInRounds(run.rounds(7), {
    theirs: drive({ name: peer, child: theirs }, { token: theirToken, path: '/api/auth/get-session' }),
    ours: drive({ name: 'Gatehouse', child: own }, { token }),
  })
  const logins = await measureInRounds(run.rounds(3), {
    theirs: () => rate(() => signIn(url, 'ada')),
    ours: () => rate(() => post(`${ours.url}/api/auth/login`, { username, password })),
  })
  const perSecondOfCpu = (rounds: Round[]) => rounds.map(({ cpuMicros }) => 1e6 / cpuMicros)
  return [
    ratioLine({
      headline: 'Authenticated reads per second of CPU (more is better)',
      what: 'authenticated reads for each second of CPU of the Node process',
      ours: perSecondOfCpu(reads.ours),
      peer: { name: peer, values: perSecondOfCpu(reads.theirs) },
      format: (value) => value.toFixed(0),
      bound: { atLeast: 5 },
    }),
    ratioLine({
      what: 'logins a second, bcrypt with cost 12',
      ours: logins.ours,
      peer: { name: peer, values: logins.theirs },
      format: (value) => `${value.toFixed(1)}/s`,
      bound: null,
    }),
  ]
}

const rate = (work: () => Promise<unknown>) =>
  measureRate({ lanes: loginsAtOnce, ms: loginsMs, work: async () => void (await work()) })

/** From the answer of the log-out at one process, until the other one refuses the session. */
async function measureRevocation(run: Run, [first, second]: [Child, Child]): Promise<Line> {
  const environment = { TRUST_PROXY: 'loopback', LOG_LEVEL: 'error' }
  await using cluster = await startCluster({ environment, replicas: { gateway: 2, identity: 2 } })
  const [here, there] = cluster.gateways
  if (!here || !there) throw new Error('the cluster has one gateway only')
  let people = 0
  const ours = async () => {
    people += 1
    const { token } = await registerAccount(here, `leaver_${people}`)
    const body = { password: 'correct horse battery' }
    await post(`${here}/api/users/@me/sessions/end`, body, token)
    return await stillWorks(`${there}/api/users/@me`, token)
  }
  const theirs = async () => {
    people += 1
    const url = `http://127.0.0.1:${first.port}/api/auth`
    const token = await signUp(`http://127.0.0.1:${first.port}`, `leaver${people}`)
    await post(`${url}/revoke-sessions`, {}, token)
    return await stillWorks(`http://127.0.0.1:${second.port}/api/auth/get-session`, token)
  }
  const times = await measureInRounds(run.rounds(10), { theirs, ours })
  const milliseconds = (value: number) => `${value.toFixed(0)} ms`
  return absoluteLine({
    headline: 'Time a revoked session still works in a second process',
    what: 'how long a revoked session goes on working, seen from a second process',
    values: times.ours,
    judge: (values) => Math.max(...values),
    peer: `${peer} ${milliseconds(Math.max(...times.theirs))}`,
    format: milliseconds,
    bound: { atMost: 0 },
  })
}

/** Milliseconds in which it is still answered for its person. */
async function stillWorks(url: string, token: string): Promise<number> {
  const startedAt = performance.now()
  let worked = 0
  for (;;) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const text = await answer.text()
    if (!answer.ok || text === 'null') return worked
    worked = performance.now() - startedAt
  }
}

async function signUp(url: string, name: string): Promise<string> {
  const account = { email: `${name}@example.com`, password: 'correct horse battery', name }
  const { token } = await post<{ token: string }>(`${url}/api/auth/sign-up/email`, account)
  return token
}

const signIn = (url: string, name: string) =>
  post(`${url}/api/auth/sign-in/email`, { email: `${name}@example.com`, password: 'correct horse battery' })

let requests = 0

async function post<Reply>(url: string, body: object, token?: string): Promise<Reply> {
  requests += 1
  const headers = {
    'content-type': 'application/json',
    origin: 'https://elsewhere.example',
    'x-forwarded-for': `10.1.${(requests >> 8) & 255}.${requests & 255}`,
    ...(token && { authorization: `Bearer ${token}` }),
  }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${text}`)
  return JSON.parse(text) as Reply
}
