import type { InviteReply, UserReply } from '@gatehouse/contracts'
import { InvalidArgumentError } from 'commander'
import { actOnEach, concluded } from '../act-on-each.ts'
import { formatTime, record, table, type DefineGroup, type Invocation, type Result } from '../invocation.ts'
import { suspensionOf } from './users.ts'

/** `invites …`. Contract: 4, invites. */
export function defineInviteCommands(group: DefineGroup): void {
  const define = group('invites', 'Manage invites')
  const archived = ['--archived', 'list inactive invites instead'] as const
  define('list', 'List active invites, newest first', listInvites).option(...archived)
  define('create <name>', 'Create an invite link', createInvite)
    .option('--max-uses <number>', 'maximum number of uses (default: no limit)', readCount)
    .option('--expires-in <duration>', 'lifetime, such as 7d, 12h or 30m (default: never expires)', readDuration)
  const reason = ['--reason <text>', 'shown to the users at login'] as const
  define('suspend-users <id>', 'Suspend everyone who registered with an invite', suspendUsers).option(...reason)
  define('revoke <id>', 'Revoke an invite link immediately', async ({ call }, _options, id) => {
    const { invite } = await call({ endpoint: 'revokeInvite', params: { id } })
    return { json: invite, text: `The invite ${(invite as InviteReply).name} is revoked` }
  })
}

/** All are listed first: a list that fails later would hide who is suspended. Contract: 5, suspend. */
async function suspendUsers(invocation: Invocation, { reason }: { reason?: string }, id: string): Promise<Result> {
  await invocation.confirm(`All accounts that came by the invite ${id} are suspended.`)
  const all: UserReply[] = []
  for await (const { users } of pagesOf(invocation, 'listUsers', { invite: id, sort: 'oldest', pageSize: 100 }))
    all.push(...(users as UserReply[]))
  const suspended: string[] = []
  const act = async (part: UserReply[]) => {
    for (const user of part) {
      await invocation.call(suspensionOf(user.id, reason))
      suspended.push(user.username)
    }
  }
  const outcome = await actOnEach(all, { act })
  const failures = outcome.left.map(({ item, reason: why }) => `${item.username}: ${why}`)
  const text = [`${suspended.length} accounts are suspended`, ...failures].join('\n')
  return concluded({ json: { suspended, left: failures }, text }, outcome)
}

/** Each page of a list. */
export async function* pagesOf({ call }: Invocation, endpoint: string, query: Record<string, string | number>) {
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await call({ endpoint, query: { ...query, ...(cursor && { cursor }) } })
    yield page
    cursor = page['nextCursor'] as string | null
  }
}

async function listInvites(invocation: Invocation, { archived }: { archived?: boolean }): Promise<Result> {
  const replies: InviteReply[] = []
  for await (const { invites } of pagesOf(invocation, 'listInvites', { status: archived ? 'archived' : 'active' }))
    replies.push(...(invites as InviteReply[]))
  const rows = replies.map(({ id, name, status, createdByUsername: creator, usedCount, maxUses, expiresAt, url }) => {
    return [id, name, status, creator, `${usedCount}/${maxUses ?? '∞'}`, formatTime(expiresAt), url]
  })
  return { json: replies, text: table(['id', 'name', 'status', 'created by', 'used', 'expires (UTC)', 'link'], rows) }
}

type CreateOptions = { maxUses?: number; expiresIn?: number }

async function createInvite({ call, now }: Invocation, options: CreateOptions, name: string): Promise<Result> {
  const expiresAt = options.expiresIn === undefined ? null : now() + options.expiresIn
  const reply = await call({ endpoint: 'createInvite', body: { name, maxUses: options.maxUses ?? null, expiresAt } })
  const invite = reply as InviteReply
  const text = record({
    id: invite.id,
    name: invite.name,
    'maximum uses': invite.maxUses ?? 'no limit',
    'expires (UTC)': formatTime(invite.expiresAt) ?? 'never',
    link: invite.url,
  })
  return { json: reply, text }
}

const unitMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function readDuration(value: string): number {
  const [, count, unit = ''] = /^([1-9][0-9]{0,5})([mhdw])$/.exec(value) ?? []
  if (!count) throw new InvalidArgumentError('Use a duration such as 7d, 12h or 30m.')
  return Number(count) * (unitMs[unit] ?? 0)
}

function readCount(value: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(value)) throw new InvalidArgumentError('Use a whole number of 1 or more.')
  return Number(value)
}
