import { eventually } from '@gatehouse/test-kit'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { insertAccounts, type Account } from './accounts.ts'
import { logIn, revocationsOf } from './changes.ts'
import { tokenClients, type TokenClient } from './clients.ts'
import { holdRequests, type HeldRequest } from './held-requests.ts'
import { injectFaults, seededPick } from './inject-faults.ts'

export type TokenSize = {
  seed: number
  replicas: Partial<Record<Role, number>>
  /** Those who revoke at the same time. */
  workers: number
  /** The least numbers of both; what `TokenRun` counts is there at least once. */
  faults: number
  changes: number
}

export type TokenRun = {
  changes: Map<string, number>
  unanswered: number
  acceptedBefore: number
  /** Changes that were asked for in the second of the newest token. */
  sameSecond: number
  checks: { accepted: number; refused: number; unavailable: number }
  /** Requests that were begun before the revocation and ended after it. */
  held: { accepted: number; refused: number; unavailable: number }
  stale: string[]
  faults: Map<string, number>
}

const accountCount = 20_000
const enoughLimitMs = 150_000

/** Revokes tokens while Redis, NATS and processes are killed and frozen, and presents them to every process. Design: invariant 1. */
export async function runTokenRevocations(size: TokenSize): Promise<TokenRun> {
  const { seed, workers } = size
  await using cluster = await startTestCluster({
    replicas: size.replicas,
    environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' },
  })
  const { DATABASE_URL, JWT_SECRET } = cluster.environment
  const { admin, accounts } = await insertAccounts(DATABASE_URL!, JWT_SECRET!, accountCount)
  const run: TokenRun = {
    changes: new Map(),
    unanswered: 0,
    acceptedBefore: 0,
    sameSecond: 0,
    checks: { accepted: 0, refused: 0, unavailable: 0 },
    held: { accepted: 0, refused: 0, unavailable: 0 },
    stale: [],
    faults: new Map(),
  }
  const revoked: Account[] = []
  const stopping = new AbortController()
  const stop = stopping.signal
  const faults = injectFaults(cluster, { pick: seededPick(seed), done: run.faults, stop })
  const work = Array.from({ length: workers }, (_, worker) =>
    revokeTokens({ cluster, admin, accounts, run, revoked, stop, pick: seededPick(seed + worker + 1) }),
  )
  const recheck = recheckTokens({ clients: tokenClients(cluster), revoked, run, stop, pick: seededPick(seed) })
  try {
    await eventually('enough was revoked under faults', () => isEnough(run, size), enoughLimitMs)
  } finally {
    stopping.abort()
    await Promise.all([...work, recheck, faults])
  }
  // The same once more when all processes run again.
  for (const client of tokenClients(cluster)) await recheckAll(client, revoked, run)
  return run
}

function isEnough(run: TokenRun, { faults, changes }: TokenSize): boolean {
  const isDone = sumOf(run.faults) >= faults && sumOf(run.changes) >= changes
  return isDone && run.acceptedBefore > 0 && run.sameSecond > 0 && run.held.refused > 0
}

const sumOf = (counts: Map<string, number>): number => [...counts.values()].reduce((sum, each) => sum + each, 0)

type Work = {
  cluster: Cluster
  admin: Account
  accounts: Account[]
  run: TokenRun
  revoked: Account[]
  stop: AbortSignal
  pick: (below: number) => number
}

/** Takes accounts one by one: checks that the token is accepted, logs in, revokes both tokens, presents them to every process at once. */
async function revokeTokens({ cluster, admin, accounts, run, revoked, stop, pick }: Work): Promise<void> {
  const clients = tokenClients(cluster)
  for (let account = accounts.pop(); account && !stop.aborted; account = accounts.pop()) {
    const { token } = account
    const before = await Promise.all(clients.slice(0, 2).map((client) => client.present(token)))
    run.acceptedBefore += before.filter((verdict) => verdict === 'accepted').length
    const held = await holdRequests(cluster, token)
    const gateway = cluster.gateways[pick(cluster.gateways.length)]!
    const newest = { ...account, token: (await logIn(account, gateway)) ?? token }
    const changes = revocationsOf(newest, admin)
    const change = changes[pick(changes.length)]!
    if (issuedAt(newest) === Math.floor(Date.now() / 1000)) run.sameSecond += 1
    const answered = await change.send(gateway).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (!answered) {
      run.unanswered += 1
      await Promise.all(held.map((one) => one.sendLastByte()))
      continue
    }
    run.changes.set(change.kind, (run.changes.get(change.kind) ?? 0) + 1)
    const ended = held.map((one) => endHeld(one, account, run))
    await Promise.all([...ended, ...clients.map((client) => check(client, newest, run))])
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
  run,
  stop,
  pick,
}: Pick<Work, 'revoked' | 'run' | 'stop' | 'pick'> & { clients: TokenClient[] }) {
  while (!stop.aborted) {
    const account = revoked[pick(revoked.length)]
    if (account) await Promise.all(clients.map((client) => check(client, account, run)))
    else await new Promise(setImmediate)
  }
}

async function recheckAll(client: TokenClient, revoked: readonly Account[], run: TokenRun): Promise<void> {
  for (let start = 0; start < revoked.length; start += 32) {
    await Promise.all(revoked.slice(start, start + 32).map((account) => check(client, account, run)))
  }
}

async function check(client: TokenClient, account: Account, run: TokenRun): Promise<void> {
  const verdict = await client.present(account.token)
  run.checks[verdict] += 1
  if (verdict === 'accepted') run.stale.push(`${client.name} accepted ${account.username}`)
}

async function endHeld(request: HeldRequest, account: Account, run: TokenRun): Promise<void> {
  const verdict = await request.sendLastByte()
  run.held[verdict] += 1
  if (verdict === 'accepted') run.stale.push(`${request.name} accepted ${account.username}`)
}

/** The counts of a run, line by line. */
export function formatTokenRun(run: TokenRun): string {
  const { changes, unanswered, acceptedBefore, sameSecond, checks, held, stale, faults } = run
  const list = (counts: Map<string, number>): string =>
    [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
  return [
    `answered: ${list(changes)}; ${unanswered} not answered`,
    `asked for in the second of the newest token: ${sameSecond}`,
    `revoked tokens presented: ${checks.refused + checks.accepted} (${checks.unavailable} times a process was unavailable)`,
    `requests with a held last byte: ${held.refused + held.accepted} (${held.unavailable} times a process was unavailable)`,
    `accepted before: ${acceptedBefore}; accepted after: ${stale.length}`,
    `faults: ${list(faults)}`,
  ].join('\n')
}
