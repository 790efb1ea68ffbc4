import { expect } from 'chai'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { insertAccounts, type Account } from './revocation/accounts.ts'
import { changesFor } from './revocation/changes.ts'
import { doorsOf, type Door } from './revocation/doors.ts'
import { makeTrouble, seededPick } from './revocation/trouble.ts'

const seconds = Number(process.env.REVOCATION_SECONDS ?? 45)
const seed = Number(process.env.REVOCATION_SEED ?? 20_261_121)
const hands = 16

type Tally = {
  changes: Map<string, number>
  unanswered: number
  livedBefore: number
  checks: { accepted: number; refused: number; away: number }
  stale: string[]
}

describe('A revoked token is dead when the answer arrives', function () {
  this.timeout((seconds + 180) * 1000)
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster({
      replicas: { gateway: 2, 'session-gateway': 2, identity: 2 },
      environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' },
    })
  })
  after(() => cluster[Symbol.asyncDispose]())

  it(`on every gateway and session gateway, while Redis, NATS and processes die and hang (seed ${seed})`, async () => {
    const { DATABASE_URL, JWT_SECRET } = cluster.environment
    const { admin, accounts } = await insertAccounts(DATABASE_URL!, JWT_SECRET!, 20_000)
    const tally: Tally = {
      changes: new Map(),
      unanswered: 0,
      livedBefore: 0,
      checks: { accepted: 0, refused: 0, away: 0 },
      stale: [],
    }
    const dead: Account[] = []
    const stop = AbortSignal.timeout(seconds * 1000)
    const trouble = makeTrouble(cluster, seededPick(seed), stop)
    const work = Array.from({ length: hands }, (_, hand) =>
      killTokens({ cluster, admin, accounts, tally, dead, stop, hand }),
    )
    const recheck = showAgain({ doors: doorsOf(cluster), dead, tally, stop })
    await Promise.all([...work, recheck])
    const done = await trouble

    // What an answered change revoked stays revoked when everything runs again.
    for (const door of doorsOf(cluster)) await showAll(door, dead, tally)
    report(tally, done)
    expect(tally.stale).to.deep.equal([])
    expect(tally.livedBefore).to.be.greaterThan(0)
    expect(tally.checks.refused).to.be.greaterThan(tally.livedBefore)
  })
})

type Work = {
  cluster: Cluster
  admin: Account
  accounts: Account[]
  tally: Tally
  dead: Account[]
  stop: AbortSignal
  hand: number
}

/** Takes accounts one by one: shows that the token lives, has it revoked, and shows it to every door at once. */
async function killTokens({ cluster, admin, accounts, tally, dead, stop, hand }: Work): Promise<void> {
  const pick = seededPick(seed + hand + 1)
  const doors = doorsOf(cluster)
  for (let account = accounts.pop(); account && !stop.aborted; account = accounts.pop()) {
    const { token } = account
    const before = await Promise.all(doors.slice(0, 2).map((door) => door.show(token)))
    tally.livedBefore += before.filter((verdict) => verdict === 'accepted').length
    const changes = changesFor(account, admin)
    const change = changes[pick(changes.length)]!
    const gateway = cluster.gateways[pick(cluster.gateways.length)]!
    const answered = await change.carryOut(gateway).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (!answered) {
      tally.unanswered += 1
      continue
    }
    tally.changes.set(change.kind, (tally.changes.get(change.kind) ?? 0) + 1)
    await Promise.all(doors.map((door) => check(door, account, tally)))
    dead.push(account)
  }
}

/** A late write could bring an old state back: dead tokens are shown again and again. */
async function showAgain({ doors, dead, tally, stop }: Pick<Work, 'dead' | 'tally' | 'stop'> & { doors: Door[] }) {
  const pick = seededPick(seed)
  while (!stop.aborted) {
    const account = dead[pick(dead.length)]
    if (account) await Promise.all(doors.map((door) => check(door, account, tally)))
    else await new Promise(setImmediate)
  }
}

async function showAll(door: Door, dead: readonly Account[], tally: Tally): Promise<void> {
  for (let start = 0; start < dead.length; start += 32) {
    await Promise.all(dead.slice(start, start + 32).map((account) => check(door, account, tally)))
  }
}

async function check(door: Door, account: Account, tally: Tally): Promise<void> {
  const verdict = await door.show(account.token)
  tally.checks[verdict] += 1
  if (verdict === 'accepted') tally.stale.push(`${door.name} accepted ${account.username}`)
}

function report({ changes, unanswered, livedBefore, checks, stale }: Tally, done: Map<string, number>): void {
  const list = (counts: Map<string, number>): string =>
    [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
  const lines = [
    `answered: ${list(changes)}; ${unanswered} not answered`,
    `tokens shown after their death: ${checks.refused + checks.accepted} (${checks.away} times the door was away)`,
    `accepted before: ${livedBefore}; accepted after: ${stale.length}`,
    `trouble: ${list(done)}`,
  ]
  process.stdout.write(lines.map((line) => `      ${line}\n`).join(''))
}
