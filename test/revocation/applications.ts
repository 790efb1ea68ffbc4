import { eventually } from '@gatehouse/test-kit'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { insertAccounts, type Account } from './accounts.ts'
import {
  insertApplication,
  logIn,
  placesOf,
  present,
  presentationNames,
  readingNames,
  refresh,
} from './application-tokens.ts'
import type { Application, Grant, Place } from './application-tokens.ts'
import { revocationsOf } from './changes.ts'
import { injectFaults, seededPick } from './inject-faults.ts'

export type ApplicationSize = {
  seed: number
  replicas: Partial<Record<Role, number>>
  workers: number
  /** The least numbers of both. */
  faults: number
  changes: number
}

type Counts = { accepted: number; refused: number; unavailable: number }

export type ApplicationRun = {
  changes: Map<string, number>
  unanswered: number
  /** What the application presented before the change, and a refresh. */
  before: Counts
  /** By what was presented after the answer to the change. */
  after: Map<string, Counts>
  stale: string[]
  faults: Map<string, number>
}

const accountCount = 4_000

/**
 * Gives an application tokens of accounts, changes the accounts while openid, identity, Redis and NATS are killed and frozen, and
 * presents the tokens to every process. Design: invariant 1; Contract: 3, Applications.
 */
export async function runApplicationRevocations(size: ApplicationSize): Promise<ApplicationRun> {
  const { seed, workers } = size
  await using cluster = await startTestCluster({
    replicas: size.replicas,
    environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' },
  })
  const { DATABASE_URL, JWT_SECRET } = cluster.environment
  const { admin, accounts } = await insertAccounts(DATABASE_URL!, JWT_SECRET!, accountCount)
  const application = await insertApplication(DATABASE_URL!)
  const places = placesOf(cluster, application)
  const none = () => ({ accepted: 0, refused: 0, unavailable: 0 })
  const run: ApplicationRun = {
    changes: new Map(),
    unanswered: 0,
    stale: [],
    faults: new Map(),
    before: none(),
    after: new Map(presentationNames.map((name) => [name, none()])),
  }
  const revoked: Grant[] = []
  const stopping = new AbortController()
  const stop = stopping.signal
  const services = /^(openid|identity)$/
  const faults = injectFaults(cluster, { pick: seededPick(seed), counts: run.faults, stop, services })
  const work = Array.from({ length: workers }, (_, worker) =>
    changeAccounts({
      cluster,
      places,
      application,
      admin,
      accounts,
      run,
      revoked,
      stop,
      pick: seededPick(seed + worker + 1),
    }),
  )
  const isEnough = () => {
    const [changed, failed] = [run.changes, run.faults].map((counts) => [...counts.values()].reduce((a, b) => a + b, 0))
    return changed! >= size.changes && failed! >= size.faults && run.before.accepted > 0
  }
  try {
    await eventually('enough was changed under faults', isEnough, 150_000)
  } finally {
    stopping.abort()
    await Promise.all([...work, faults])
  }
  // The same once more when all processes run again.
  for (const grant of revoked) await presentAll(places, grant, run)
  return run
}

type Work = {
  cluster: Cluster
  places: Place[]
  application: Application
  admin: Account
  accounts: Account[]
  run: ApplicationRun
  revoked: Grant[]
  stop: AbortSignal
  pick: (below: number) => number
}

async function changeAccounts(work: Work): Promise<void> {
  const { cluster, places, application, admin, accounts, run, revoked, stop, pick } = work
  const one = <Item>(list: readonly Item[]): Item => list[pick(list.length)]!
  for (let account = accounts.pop(); account && !stop.aborted; account = accounts.pop()) {
    const gateway = one(cluster.gateways)
    const grant = await holdTokens({ gateway, place: one(places), application, account, run })
    if (!grant) continue
    for (const name of readingNames) run.before[await present(one(places), grant, name)] += 1
    const change = one(revocationsOf(account, admin))
    const answered = await change.send(gateway).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (!answered) {
      run.unanswered += 1
      continue
    }
    run.changes.set(change.kind, (run.changes.get(change.kind) ?? 0) + 1)
    await presentAll(places, grant, run)
    revoked.push(grant)
  }
}

type Holding = { gateway: string; place: Place; application: Application; account: Account; run: ApplicationRun }

/** After one refresh, which worked. Undefined: a process did not answer meanwhile. */
async function holdTokens({ gateway, place, application, account, run }: Holding): Promise<Grant | undefined> {
  const grant = await logIn(gateway, place, application, account)
    .then(async (first) => await refresh(place, first))
    .catch(() => undefined)
  run.before[grant ? 'accepted' : 'unavailable'] += 1
  return grant
}

async function presentAll(places: readonly Place[], grant: Grant, run: ApplicationRun): Promise<void> {
  const presented = places.flatMap((place) =>
    presentationNames.map(async (name) => {
      const outcome = await present(place, grant, name)
      run.after.get(name)![outcome] += 1
      if (outcome === 'accepted') run.stale.push(`${place.name}: ${name} of ${grant.account.username}`)
    }),
  )
  await Promise.all(presented)
}

/** The counts of a run, line by line. */
export function formatApplicationRun({ changes, unanswered, before, after, stale, faults }: ApplicationRun): string {
  const list = (counts: Map<string, number>): string => [...counts].map(([name, n]) => `${n} × ${name}`).join(', ')
  const presented = [...after.values()].reduce((sum, { accepted, refused }) => sum + accepted + refused, 0)
  const unavailable = [...after.values()].reduce((sum, counts) => sum + counts.unavailable, 0)
  return [
    `answered: ${list(changes)}; ${unanswered} not answered`,
    `what applications held, presented: ${presented} (${unavailable} times a process was unavailable)`,
    `of these ${[...after].map(([name, { accepted, refused }]) => `${accepted + refused} × ${name}`).join(', ')}`,
    `accepted before: ${before.accepted}; accepted after: ${stale.length}`,
    `faults: ${list(faults)}`,
  ].join('\n')
}
