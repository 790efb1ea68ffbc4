import { listTree } from '@gatehouse/local-servers'
import { createDataFolder } from './embedded-instance.ts'
import { cpuOf, residentMegabytes, startChild, type Child } from './gateway/child.ts'
import { driveRound, ownAccount, requestText, type Round } from './gateway/drive.ts'
import { openPlace, type Person, type Place } from './openid/place.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, timeOf, type Run } from './rounds.ts'
import { measureGrowth, type Operations } from './scale/growth.ts'

/** A smaller one for a first look: `OPENID_GRANTS=100000 npm run bench -- openid-grants`. */
const many = Number(process.env.OPENID_GRANTS ?? 1_000_000)
const few = 10_000
const warmUpSeconds = 12
const endpoints = { introspection: '/oauth2/introspect', userinfo: '/oauth2/userinfo', token: '/oauth2/token' }

/** What applications ask about people's tokens, beside GET @me. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using folder = await createDataFolder()
  await using place = await openPlace(folder.path, few)
  return await measureRequests(run, place)
}

/** The same with a hundred times the grants. Design: invariant 13. */
export async function benchmarkGrants(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const open = async (count: number) => {
    const { path } = opening.use(await createDataFolder())
    return { count, operations: operationsOn(opening.use(await openPlace(path, count))) }
  }
  const [small, large] = [await open(few), await open(many)]
  return await measureGrowth({ large, small, unit: 'grants', rounds: run.rounds(15) })
}

type Kind = 'me' | 'introspection' | 'userinfo'
type Measured = Round & { databaseMicros: number; aloneMs: number }
type Bare = Child & { tokens: string[]; authorization: string }

async function measureRequests(run: Run, place: Place): Promise<Line[]> {
  using load = await startChild('load.ts', {})
  using bare = await startChild<Bare>('../openid/bare.ts', {})
  const texts = textsOf(place)
  const measure = (kind: Kind) => async () => await measureRound(place, load, texts[kind])
  await assertAnswers(place)
  // V8 compiles meanwhile: bench/NOTES.md.
  for (const kind of ['me', 'introspection', 'userinfo'] as const)
    await measureRound(place, load, texts[kind], warmUpSeconds)
  await driveBare(bare, load, warmUpSeconds)
  const rounds = await measureInRounds<Kind | 'bare', Measured | Round>(run.rounds(7), {
    bare: () => driveBare(bare, load),
    me: measure('me'),
    introspection: measure('introspection'),
    userinfo: measure('userinfo'),
  })
  const [me, introspection, userinfo] = [rounds.me, rounds.introspection, rounds.userinfo] as Measured[][]
  const cpu = (measured: readonly Round[]) => measured.map(({ cpuMicros }) => cpuMicros)
  const alone = ratioLine({
    what: 'introspection by oidc-provider alone, from memory: CPU',
    ours: cpu(rounds.bare),
    peer: { name: 'GET @me', values: cpu(rounds.me) },
    format: micros,
    bound: null,
  })
  return [...linesOf('introspection', introspection!, me!), alone, ...linesOf('userinfo', userinfo!, me!)]
}

async function driveBare(bare: Bare, load: Child, seconds = 2): Promise<Round> {
  const { tokens, authorization } = bare
  const texts = tokens.map((token) => requestText({ path: '/token/introspection', authorization, form: { token } }))
  return await driveRound(load, { name: 'oidc-provider', child: bare }, { seconds, texts })
}

function textsOf({ people, authorization }: Place): Record<Kind, string[]> {
  const at = ({ address }: Person) => ({ 'X-Forwarded-For': address })
  const get = (path: string, token: (person: Person) => string) =>
    people.map((person) => requestText({ path, authorization: `Bearer ${token(person)}`, headers: at(person) }))
  return {
    me: get(ownAccount, ({ session }) => session),
    userinfo: get(endpoints.userinfo, ({ accessToken }) => accessToken),
    introspection: people.map((person) => {
      const form = { token: person.accessToken }
      return requestText({ path: endpoints.introspection, authorization, headers: at(person), form })
    }),
  }
}

/** On 64 connections, and then alone on one. */
async function measureRound({ instance }: Place, load: Child, texts: string[], seconds = 2): Promise<Measured> {
  const { port, pid } = instance
  const child = { port, cpuSeconds: () => cpuOf(pid), megabytes: () => residentMegabytes(pid) }
  const drive = (order: { seconds: number; connections: number }) =>
    driveRound(load, { name: 'Gatehouse', child }, { ...order, texts })
  const before = cpuOfDatabase(pid)
  const busy = await drive({ seconds, connections: 64 })
  const databaseMicros = ((cpuOfDatabase(pid) - before) * 1e6) / busy.requests
  const { p50Ms } = await drive({ seconds: 0.7, connections: 1 })
  return { ...busy, databaseMicros, aloneMs: p50Ms }
}

/** Of PostgreSQL, with processes of it that have ended. */
function cpuOfDatabase(pid: number): number {
  return listTree(pid).reduce((sum, member) => (member === pid ? sum : sum + cpuOf(member, { withEnded: true })), 0)
}

function linesOf(kind: Kind, ours: readonly Measured[], me: readonly Measured[]): Line[] {
  const beside = (what: string, value: (round: Measured) => number, format: (value: number) => string) => ({
    what: `${kind}, embedded, 200 people in turn: ${what}`,
    ours: ours.map(value),
    peer: { name: 'GET @me', values: me.map(value) },
    format,
  })
  const bound = { atMost: 2 }
  return [
    ratioLine({ ...beside('CPU of the Node process', ({ cpuMicros }) => cpuMicros, micros), bound }),
    ratioLine({ ...beside('CPU of PostgreSQL', ({ databaseMicros }) => databaseMicros, micros), bound: null }),
    ratioLine({ ...beside('milliseconds, one at a time', ({ aloneMs }) => aloneMs, milliseconds), bound }),
  ]
}

/** An answer about a token that is not in force is 200 too. */
async function assertAnswers({ instance, people: [person], authorization }: Place): Promise<void> {
  const token = { token: person!.accessToken }
  const text = await (await post(instance.url + endpoints.introspection, authorization, token)).text()
  if (!text.includes('"active":true')) throw new Error(`introspection answers ${text}`)
}

const post = (url: string, authorization: string, form: Record<string, string>, headers = {}) =>
  fetch(url, { method: 'POST', headers: { ...headers, authorization }, body: new URLSearchParams(form) })

function operationsOn({ instance: { url }, people, authorization, sweep }: Place): Operations {
  /** The next person each time. A refresh token is good once. */
  const asking = (ask: (person: Person, headers: Record<string, string>) => Promise<Response>) => {
    let calls = 0
    return async () => {
      const person = people[calls++ % people.length]!
      return await timeOf(async () => {
        const answer = await ask(person, { 'x-forwarded-for': person.address })
        const text = await answer.text()
        if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}: ${text}`)
      })
    }
  }
  const get = (path: string, authorization: string, headers: object) =>
    fetch(url + path, { headers: { ...headers, authorization } })
  return {
    introspection: asking(({ accessToken }, headers) =>
      post(url + endpoints.introspection, authorization, { token: accessToken }, headers),
    ),
    userinfo: asking(({ accessToken }, headers) => get(endpoints.userinfo, `Bearer ${accessToken}`, headers)),
    'a refresh': asking(({ refreshToken }, headers) => {
      const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
      return post(url + endpoints.token, authorization, form, headers)
    }),
    "the list of a person's applications": asking(({ session }, headers) =>
      get('/api/users/@me/applications', `Bearer ${session}`, headers),
    ),
    'a sweep of 1,000 expired rows': sweep,
  }
}

const micros = (value: number): string => `${value.toFixed(0)} µs`
const milliseconds = (value: number): string => `${value.toFixed(2)} ms`
