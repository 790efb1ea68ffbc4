import { setTimeout as pause } from 'node:timers/promises'
import type { LocalServer } from '@gatehouse/local-servers'
import { eventually, startNatsCluster } from '@gatehouse/test-kit'
import pg from 'pg'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { insertAccounts, type Account } from './accounts.ts'
import { logIn, revocationsOf } from './changes.ts'
import { tokenClients, type TokenClient } from './clients.ts'
import { holdRequests, type HeldRequest } from './held-requests.ts'
import { injectFaults, seededPick } from './inject-faults.ts'
import { startLogins } from './login-storm.ts'

export type TokenSize = {
  seed: number
  replicas: Partial<Record<Role, number>>
  /** Those who revoke at the same time. */
  workers: number
  /** The least numbers of both; what `TokenRun` counts is there at least once. */
  faults: number
  changes: number
  /** By default one. The leader of several is what fails. */
  natsNodes?: number
}

export type TokenRun = {
  changes: Map<string, number>
  unanswered: number
  acceptedBefore: number
  /** Changes that were asked for in the second of the newest token. */
  sameSecond: number
  /** Logins that were answered before the change that went on beside them, and the different tokens that they gave. */
  logins: { answered: number; tokens: number }
  checks: { accepted: number; refused: number; unavailable: number }
  /** Requests that were begun before the revocation and ended after it. */
  inFlight: { accepted: number; refused: number; unavailable: number }
  stale: string[]
  faults: Map<string, number>
}

const accountCount = 20_000
const controlChanges = 10

/** Revokes tokens while Redis, NATS and processes are killed and frozen, and presents them to every process. Design: invariant 1. */
export async function runTokenRevocations(size: TokenSize): Promise<{ run: TokenRun; control: Control }> {
  const { seed, workers, natsNodes } = size
  await using nats = natsNodes === undefined ? undefined : await startNatsCluster(natsNodes)
  await using cluster = await startTestCluster({
    servers: nats ? { nats: Object.create(nats.nodes[0]!, { url: { value: nats.url } }) as LocalServer } : {},
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
    logins: { answered: 0, tokens: 0 },
    checks: { accepted: 0, refused: 0, unavailable: 0 },
    inFlight: { accepted: 0, refused: 0, unavailable: 0 },
    stale: [],
    faults: new Map(),
  }
  const revoked: Account[] = []
  const stopping = new AbortController()
  const stop = stopping.signal
  const faults = injectFaults(cluster, { pick: seededPick(seed), counts: run.faults, stop, nats })
  const work = Array.from({ length: workers }, (_, worker) =>
    revokeTokens({ cluster, admin, accounts, run, revoked, stop, pick: seededPick(seed + worker + 1) }),
  )
  const recheck = recheckTokens({ clients: tokenClients(cluster), revoked, run, stop, pick: seededPick(seed) })
  try {
    await eventually('enough was revoked under faults', () => isEnough(run, size), 150_000 + size.changes * 3_000)
  } finally {
    stopping.abort()
    await Promise.all([...work, recheck, faults])
  }
  // The same once more when all processes run again.
  for (const client of tokenClients(cluster)) await recheckAll(client, revoked, run)
  const localAccounts = accounts.filter(({ isFederated }) => !isFederated)
  return { run, control: await revokeByOldRule(cluster, localAccounts) }
}

type Control = { changes: number; accepted: number; refused: number }

/** As releases before 0.4.0 did it: at the time of the change, also in the second of a token. The handshakes read no cache. */
async function revokeByOldRule(cluster: Cluster, accounts: Account[]): Promise<Control> {
  const clients = tokenClients(cluster).filter(({ name }) => name.startsWith('session gateway'))
  const client = new pg.Client(cluster.environment.DATABASE_URL)
  await client.connect()
  const control: Control = { changes: 0, accepted: 0, refused: 0 }
  const sql = `update users set password_changed_at = floor(extract(epoch from clock_timestamp()) * 1000),
    state_version = state_version + 1 where id = $1`
  while (control.changes < controlChanges || (control.accepted === 0 && control.changes < 4 * controlChanges)) {
    const account = accounts.pop()!
    const token = await logIn(account, cluster.gateways[0]!)
    if (token === undefined) throw new Error('nobody could log in when all processes ran again')
    await client.query(sql, [account.id])
    control.changes += 1
    for (const old of [account.token, token]) {
      const verdicts = await Promise.all(clients.map(({ present }) => present(old)))
      if (old === token && verdicts.includes('accepted')) control.accepted += 1
      if (old !== token && verdicts.every((verdict) => verdict === 'refused')) control.refused += 1
    }
  }
  await client.end()
  return control
}

function isEnough(run: TokenRun, { faults, changes }: TokenSize): boolean {
  const isDone = sumOf(run.faults) >= faults && sumOf(run.changes) >= changes
  return isDone && run.acceptedBefore > 0 && run.sameSecond > 0 && run.inFlight.refused > 0 && run.logins.answered > 0
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

/**
 * Takes accounts one by one: checks that the token is accepted, logs in, and revokes both tokens, and those of logins beside the
 * change. Presents them to every process at once.
 */
async function revokeTokens({ cluster, admin, accounts, run, revoked, stop, pick }: Work): Promise<void> {
  const clients = tokenClients(cluster)
  for (let account = accounts.pop(); account && !stop.aborted; account = accounts.pop()) {
    const { token } = account
    const before = await Promise.all(clients.slice(0, 2).map((client) => client.present(token)))
    run.acceptedBefore += before.filter((verdict) => verdict === 'accepted').length
    const requests = await holdRequests(cluster, token)
    const gateway = cluster.gateways[pick(cluster.gateways.length)]!
    const newest = { ...account, token: (await logIn(account, gateway)) ?? token }
    const changes = revocationsOf(newest, admin)
    const change = changes[pick(changes.length)]!
    const logins = account.isFederated ? undefined : startLogins(account, cluster.gateways)
    // The change falls on any part of a second.
    if (logins) await pause(pick(1_000))
    if (logins || issuedAt(newest) === Math.floor(Date.now() / 1000)) run.sameSecond += 1
    const answered = await change.send(gateway).then(
      ({ status }) => status === 200,
      () => false,
    )
    const issued = logins?.stop() ?? []
    if (!answered) {
      run.unanswered += 1
      await Promise.all(requests.map((one) => one.sendLastByte()))
      continue
    }
    run.changes.set(change.kind, (run.changes.get(change.kind) ?? 0) + 1)
    const tokens = new Set([newest.token, ...issued])
    run.logins.answered += issued.length
    run.logins.tokens += new Set(issued).size
    const stale = [...tokens].map((token) => ({ ...account, token }))
    const ended = requests.map((one) => endRequest(one, account, run))
    await Promise.all([...ended, ...clients.flatMap((client) => stale.map((one) => check(client, one, run)))])
    revoked.push(account, ...stale)
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

async function endRequest(request: HeldRequest, account: Account, run: TokenRun): Promise<void> {
  const verdict = await request.sendLastByte()
  run.inFlight[verdict] += 1
  if (verdict === 'accepted') run.stale.push(`${request.name} accepted ${account.username}`)
}

/** The counts of a run, line by line. */
export function formatTokenRun(run: TokenRun, control: Control): string {
  const { changes, unanswered, acceptedBefore, sameSecond, logins, checks, inFlight, stale, faults } = run
  const list = (counts: Map<string, number>): string =>
    [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
  return [
    `answered: ${list(changes)}; ${unanswered} not answered`,
    `asked for in the second of the newest token: ${sameSecond}`,
    `logins beside a change that were answered before it: ${logins.answered}, with ${logins.tokens} tokens`,
    `revoked tokens presented: ${checks.refused + checks.accepted} (${checks.unavailable} times a process was unavailable)`,
    `requests with a held last byte: ${inFlight.refused + inFlight.accepted} (${inFlight.unavailable} times a process was unavailable)`,
    `accepted before: ${acceptedBefore}; accepted after: ${stale.length}`,
    `faults: ${list(faults)}`,
    `the control, changed by the old rule: ${control.accepted} of ${control.changes} newest tokens accepted, ${control.refused} earlier ones refused`,
  ].join('\n')
}
