import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'

export type OwnedSpace = { id: string; name: string }

/** `audience`: who shares something with the account in further services, present or not. */
export type AskedUpstreams = { audience: readonly string[] }

/** For a stub: who has never signed in shares nothing. */
export const nothingAsked: AskedUpstreams = { audience: [] }

export const blockedBySpaces = (ownedSpaces: OwnedSpace[]): Error =>
  refuse.account_deletion_blocked_owned_spaces({ fields: { ownedSpaces } })

/**
 * Call it before the transaction, so that no lock waits for an upstream. Throws `blocked` and upstream_unavailable.
 * Contract: 5, Deletions at further services.
 */
export async function askBeforeDeletion(
  deps: Pick<Deps, 'upstreams'>,
  userId: string,
  blocked: (ownedSpaces: OwnedSpace[]) => Error = blockedBySpaces,
): Promise<AskedUpstreams> {
  const [audience] = await Promise.all([listAudience(deps, userId), refuseOwnedSpaces(deps, userId, blocked)])
  return { audience }
}

async function refuseOwnedSpaces(
  { upstreams }: Pick<Deps, 'upstreams'>,
  userId: string,
  blocked: (ownedSpaces: OwnedSpace[]) => Error,
): Promise<void> {
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

async function listAudience({ upstreams }: Pick<Deps, 'upstreams'>, userId: string): Promise<string[]> {
  const ask = (upstream: string) => upstreams.ask(upstream, 'audience', { users: [userId] })
  const answers = await Promise.all(upstreams.answering('audience').map(ask))
  const groups = answers.flatMap((answer) => answer?.groups ?? []).filter(({ users }) => users.includes(userId))
  return [...new Set(groups.flatMap(({ audience }) => audience))]
}
