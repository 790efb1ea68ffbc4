import { appCode } from '@gatehouse/test-kit'
import { startCluster } from '../deploy/cluster/cluster.ts'
import { absoluteLine, type Line } from './report.ts'
import { median, type Run } from './rounds.ts'

const password = 'correct horse battery'
/** The second has another normal form, which is tried too. */
const wrongPasswords = { 'a wrong password': 'wrong horse battery', 'a wrong one beyond ASCII': 'wrong hörse bättery' }
const loginsOfRound = 20

/** Milliseconds of refused logins for each kind of account, in turn: nobody may learn from them which kind it is. docs/explain/security.md. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using cluster = await startCluster({ environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'error' } })
  const send = openClient(cluster.gateways[0]!)
  const admin = await register(send, 'bench_admin')
  const suspended = await register(send, 'bench_suspended')
  const factored = await register(send, 'bench_factored')
  await register(send, 'bench_known')
  await send(`/api/admin/users/${suspended.user.id}/suspend`, { reason: 'bench' }, admin.token)
  const { secret } = await send<{ secret: string }>('/api/users/@me/second-factor', { password }, factored.token)
  await send('/api/users/@me/second-factor/confirm', { code: appCode(secret, Date.now(), 0) }, factored.token)
  const names = ['bench_nobody', 'bench_known', 'bench_suspended', 'bench_factored', 'eve@other.example']
  const kinds = Object.entries(wrongPasswords).map(([what, wrong]) => ({
    what,
    wrong,
    times: new Map<string, number[]>(names.map((name) => [name, []])),
  }))
  for (let login = 0; login < loginsOfRound * run.rounds(5); login += 1) {
    for (const { wrong, times } of kinds) {
      for (const name of names) {
        const started = performance.now()
        await send('/api/auth/login', { username: name, password: wrong }, undefined, 401)
        times.get(name)!.push(performance.now() - started)
      }
    }
  }
  return kinds.flatMap(({ what, times }) => compareTimes(what, times))
}

/** Each kind of account with the unknown name, which is the first. */
function compareTimes(what: string, times: ReadonlyMap<string, number[]>): Line[] {
  const [unknown = [], ...others] = times.values()
  const names = [...times.keys()].slice(1)
  return others.map((own, index) =>
    absoluteLine({
      what: `${what} for ${names[index]}: distance of its times from those of an unknown name`,
      values: [distance(own, unknown)],
      peer: `medians ${median(own).toFixed(0)} and ${median(unknown).toFixed(0)} ms of ${own.length}`,
      format: (value) => value.toFixed(3),
      bound: { atMost: 1.63 * Math.sqrt(2 / own.length) },
    }),
  )
}

/** Kolmogorov and Smirnov's: 0 for the same distribution, 1 for two that do not meet. */
function distance(one: readonly number[], other: readonly number[]): number {
  const share = (values: readonly number[], limit: number) =>
    values.filter((value) => value <= limit).length / values.length
  return Math.max(...[...one, ...other].map((limit) => Math.abs(share(one, limit) - share(other, limit))))
}

type Registered = { token: string; user: { id: string } }
type Send = ReturnType<typeof openClient>

const register = (send: Send, username: string) => send<Registered>('/api/auth/register', { username, password })

/** Each request comes from another address: the limit of one is not the subject. */
function openClient(origin: string) {
  let addresses = 0
  return async <Reply>(path: string, body: object, token?: string, expected?: number): Promise<Reply> => {
    addresses += 1
    const address = `10.0.${addresses >> 8}.${addresses & 255}`
    const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': address, ...bearer }
    const answer = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (expected === undefined ? !answer.ok : answer.status !== expected) throw new Error(`${path}: ${text}`)
    return JSON.parse(text || 'null') as Reply
  }
}
