import { expect } from 'chai'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { insertAccounts, type Account } from './revocation/accounts.ts'
import { logIn, revocationsOf } from './revocation/changes.ts'
import { tokenClients, type TokenClient } from './revocation/clients.ts'
import { holdRequests, type HeldRequest } from './revocation/held-requests.ts'
import { injectFaults, seededPick } from './revocation/inject-faults.ts'

const seconds = Number(process.env.REVOCATION_SECONDS ?? 25)
const seed = Number(process.env.REVOCATION_SEED ?? 20_261_121)
const workers = 16

type Tally = {
  changes: Map<string, number>
  unanswered: number
  acceptedBefore: number
  /** Changes that were asked for in the second of the newest token. */
  sameSecond: number
  checks: { accepted: number; refused: number; unavailable: number }
  /** Requests that were begun before the revocation and ended after it. */
  held: { accepted: number; refused: number; unavailable: number }
  stale: string[]
}

describe('A revoked token is rejected once the revocation was answered', function () {
  this.timeout((seconds + 180) * 1000)
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster({
      replicas: { gateway: 2, 'session-gateway': 2, identity: 2 },
      environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' },
    })
  })
  after(() => cluster[Symbol.asyncDispose]())

  it(`on every gateway and session gateway, while Redis, NATS and processes are killed and frozen (seed ${seed})`, async () => {
    const { DATABASE_URL, JWT_SECRET } = cluster.environment
    const { admin, accounts } = await insertAccounts(DATABASE_URL!, JWT_SECRET!, 20_000)
    const tally: Tally = {
      changes: new Map(),
      unanswered: 0,
      acceptedBefore: 0,
      sameSecond: 0,
      checks: { accepted: 0, refused: 0, unavailable: 0 },
      held: { accepted: 0, refused: 0, unavailable: 0 },
      stale: [],
    }
    const revoked: Account[] = []
    const stop = AbortSignal.timeout(seconds * 1000)
    const faults = injectFaults(cluster, seededPick(seed), stop)
    const work = Array.from({ length: workers }, (_, worker) =>
      revokeTokens({ cluster, admin, accounts, tally, revoked, stop, worker }),
    )
    const recheck = recheckTokens({ clients: tokenClients(cluster), revoked, tally, stop })
    await Promise.all([...work, recheck])
    const done = await faults

    // The same once more when all processes run again.
    for (const client of tokenClients(cluster)) await recheckAll(client, revoked, tally)
    report(tally, done)
    expect(tally.stale).to.deep.equal([])
    expect(tally.acceptedBefore).to.be.greaterThan(0)
    expect(tally.sameSecond).to.be.greaterThan(0)
    expect(tally.held.refused).to.be.greaterThan(0)
    expect(tally.checks.refused).to.be.greaterThan(tally.acceptedBefore)
  })
})

type Work = {
  cluster: Cluster
  admin: Account
  accounts: Account[]
  tally: Tally
  revoked: Account[]
  stop: AbortSignal
  worker: number
}

/** Takes accounts one by one: checks that the token is accepted, logs in, revokes both tokens, presents them to every process at once. */
async function revokeTokens({ cluster, admin, accounts, tally, revoked, stop, worker }: Work): Promise<void> {
  const pick = seededPick(seed + worker + 1)
  const clients = tokenClients(cluster)
  for (let account = accounts.pop(); account && !stop.aborted; account = accounts.pop()) {
    const { token } = account
    const before = await Promise.all(clients.slice(0, 2).map((client) => client.present(token)))
    tally.acceptedBefore += before.filter((verdict) => verdict === 'accepted').length
    const held = await holdRequests(cluster, token)
    const gateway = cluster.gateways[pick(cluster.gateways.length)]!
    const newest = { ...account, token: (await logIn(account, gateway)) ?? token }
    const changes = revocationsOf(newest, admin)
    const change = changes[pick(changes.length)]!
    if (issuedAt(newest) === Math.floor(Date.now() / 1000)) tally.sameSecond += 1
    const answered = await change.send(gateway).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (!answered) {
      tally.unanswered += 1
      await Promise.all(held.map((one) => one.sendLastByte()))
      continue
    }
    tally.changes.set(change.kind, (tally.changes.get(change.kind) ?? 0) + 1)
    const ended = held.map((one) => endHeld(one, account, tally))
    await Promise.all([...ended, ...clients.map((client) => check(client, newest, tally))])
    revoked.push(account, newest)
  }
}

function issuedAt({ token }: Account): number {
  const { iat } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { iat: number }
  return iat
}

/** A late cache write could restore an old state: revoked tokens are presented repeatedly. */
async function recheckTokens({
  clients,
  revoked,
  tally,
  stop,
}: Pick<Work, 'revoked' | 'tally' | 'stop'> & { clients: TokenClient[] }) {
  const pick = seededPick(seed)
  while (!stop.aborted) {
    const account = revoked[pick(revoked.length)]
    if (account) await Promise.all(clients.map((client) => check(client, account, tally)))
    else await new Promise(setImmediate)
  }
}

async function recheckAll(client: TokenClient, revoked: readonly Account[], tally: Tally): Promise<void> {
  for (let start = 0; start < revoked.length; start += 32) {
    await Promise.all(revoked.slice(start, start + 32).map((account) => check(client, account, tally)))
  }
}

async function check(client: TokenClient, account: Account, tally: Tally): Promise<void> {
  const verdict = await client.present(account.token)
  tally.checks[verdict] += 1
  if (verdict === 'accepted') tally.stale.push(`${client.name} accepted ${account.username}`)
}

async function endHeld(request: HeldRequest, account: Account, tally: Tally): Promise<void> {
  const verdict = await request.sendLastByte()
  tally.held[verdict] += 1
  if (verdict === 'accepted') tally.stale.push(`${request.name} accepted ${account.username}`)
}

function report(
  { changes, unanswered, acceptedBefore, sameSecond, checks, held, stale }: Tally,
  done: Map<string, number>,
): void {
  const list = (counts: Map<string, number>): string =>
    [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
  const lines = [
    `answered: ${list(changes)}; ${unanswered} not answered`,
    `asked for in the second of the newest token: ${sameSecond}`,
    `revoked tokens presented: ${checks.refused + checks.accepted} (${checks.unavailable} times a process was unavailable)`,
    `requests with a held last byte: ${held.refused + held.accepted} (${held.unavailable} times a process was unavailable)`,
    `accepted before: ${acceptedBefore}; accepted after: ${stale.length}`,
    `faults: ${list(done)}`,
  ]
  process.stdout.write(lines.map((line) => `      ${line}\n`).join(''))
}
