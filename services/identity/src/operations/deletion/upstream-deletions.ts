import type { DeletionMode, UpstreamDeletionError } from '@gatehouse/contracts'
import { changeRows, claimDue, findPage, transaction, type PageRequest } from '@gatehouse/database'
import { UpstreamDeletion, type User } from '@gatehouse/domain'
import { backoffMs, refuse, startPeriodicTask, type PeriodicTask } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'

export type OwnedSpace = { id: string; name: string }
export type Blocked = (ownedSpaces: OwnedSpace[]) => Error

export const blockedBySpaces: Blocked = (ownedSpaces) =>
  refuse.account_deletion_blocked_owned_spaces({ fields: { ownedSpaces } })

type AskingDeps = Pick<Deps, 'upstreams'>

/**
 * Call it before the transaction, so that no lock waits for an upstream. Gives who shares something with the account in
 * further services, present or not. Contract: 5, Deletions at further services.
 */
export async function askBeforeDeletion(deps: AskingDeps, user: User, blocked = blockedBySpaces) {
  // Who has never signed in shares nothing.
  if (user.isStub()) return []
  const [audience] = await Promise.all([listAudience(deps, user.id), refuseOwnedSpaces(deps, user.id, blocked)])
  return audience
}

async function refuseOwnedSpaces({ upstreams }: AskingDeps, userId: string, blocked: Blocked): Promise<void> {
  const ask = async (upstream: string) => ({
    upstream,
    spaces: (await upstreams.ask(upstream, 'ownedSpaces', { userId }))?.ownedSpaces,
  })
  const answers = await Promise.all(upstreams.answering('ownedSpaces').map(ask))
  const owned = answers.flatMap(({ spaces }) => spaces ?? [])
  if (owned.length > 0) throw blocked(owned)
  const silent = answers.find(({ spaces }) => spaces === undefined)
  if (!silent) return
  const headers = { 'Retry-After': String(policy.upstreamRetryAfterSeconds) }
  throw refuse.upstream_unavailable({ fields: { upstream: silent.upstream }, headers })
}

async function listAudience({ upstreams }: AskingDeps, userId: string): Promise<string[]> {
  const ask = (upstream: string) => upstreams.ask(upstream, 'audience', { users: [userId] })
  const answers = await Promise.all(upstreams.answering('audience').map(ask))
  const groups = answers.flatMap((answer) => answer?.groups ?? []).filter(({ users }) => users.includes(userId))
  return [...new Set(groups.flatMap(({ audience }) => audience))]
}

type Opened = { userId: string; mode: DeletionMode; at: number }

/** In the transaction of the deletion. Contract: 5, Deletions at further services. */
export async function openUpstreamDeletions(em: EntityManager, { upstreams }: AskingDeps, opened: Opened) {
  const { userId, mode, at } = opened
  const names = upstreams.answering('deletion')
  if (names.length === 0) return
  const sql = `insert into upstream_deletions (user_id, upstream, mode, given_at, next_attempt_at)
    select ?::bigint, upstream, ?, ?, ? from jsonb_array_elements_text(?::jsonb) upstream on conflict do nothing`
  await changeRows(em, sql, [userId, mode, new Date(at), new Date(at), JSON.stringify(names)])
}

type DeletionsDeps = Pick<Deps, 'orm' | 'clock' | 'log' | 'timer' | 'upstreams'>
type Due = { id: string; userId: string; mode: DeletionMode; attempts: number }

/** Any number of replicas may run it. An attempt that a crash ended is repeated after its lease. */
export function startUpstreamDeletions(deps: DeletionsDeps): PeriodicTask {
  const { log, timer } = deps
  const options = { name: 'deletions at upstreams', everyMs: policy.upstreamDeletionIntervalMs, log, timer }
  return startPeriodicTask(options, () =>
    Promise.all(deps.upstreams.answering('deletion').map((upstream) => askDue(deps, upstream))),
  )
}

/** A full batch is followed by the next one while the upstream answers. */
async function askDue(deps: DeletionsDeps, upstream: string): Promise<void> {
  let due: Due[]
  let errors: unknown[]
  do {
    due = await takeDue(deps, upstream)
    errors = await Promise.all(due.map((deletion) => ask(deps, upstream, deletion)))
  } while (due.length === policy.upstreamDeletionsAtOnce && !errors.includes('no_answer'))
}

async function ask(deps: DeletionsDeps, upstream: string, { id, userId, mode, attempts }: Due) {
  const answer = await deps.upstreams.ask(upstream, 'deletion', { userId, mode })
  const em = deps.orm.em.fork()
  if (answer?.done) return void (await em.nativeDelete(UpstreamDeletion, { id }))
  const error: UpstreamDeletionError = answer ? 'not_done' : 'no_answer'
  const nextAttemptAt = new Date(deps.clock.now() + backoffMs(attempts, policy.orderBackoff))
  await em.nativeUpdate(UpstreamDeletion, { id }, { error, attempts: attempts + 1, nextAttemptAt })
  return error
}

async function takeDue({ orm, clock }: DeletionsDeps, upstream: string): Promise<Due[]> {
  const queue = { table: 'upstream_deletions', key: 'id', where: 'upstream = ?', parameters: [upstream] }
  const returning = 'id::text as id, user_id::text as "userId", mode, attempts'
  const size = { leaseMs: policy.orderLeaseMs, most: policy.upstreamDeletionsAtOnce }
  return await transaction(orm, (em) => claimDue<Due>(em, queue, { ...size, now: clock.now(), returning }))
}

/** Those of services that the file names no more stay, and are not asked for. Contract: 5, Deletions at further services. */
export async function listUpstreamDeletions({ orm, upstreams }: DeletionsDeps, query: PageRequest) {
  const { rows, nextCursor } = await findPage(orm.em.fork(), UpstreamDeletion, query)
  const declared = new Set(upstreams.answering('deletion'))
  const deletions = rows.map(({ id, userId, upstream, mode, error, attempts, givenAt, nextAttemptAt }) => ({
    id,
    userId,
    upstream,
    mode,
    attempts,
    error: declared.has(upstream) ? (error ?? null) : ('not_declared' as const),
    givenAt: givenAt.getTime(),
    nextAttemptAt: nextAttemptAt.getTime(),
  }))
  return { deletions, nextCursor }
}

/** Open for a day and longer. */
export async function countOverdueDeletions({ orm, clock }: Pick<Deps, 'orm' | 'clock'>): Promise<number> {
  const before = new Date(clock.now() - policy.upstreamDeletionOverdueMs)
  return await orm.em.fork().count(UpstreamDeletion, { givenAt: { $lte: before } })
}
