import type { InviteReply, UserReply } from '@gatehouse/contracts'
import { InvalidArgumentError, type Command } from 'commander'
import { CommandFailure, exitCodes } from '../failure.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import { formatTime, record, table } from '../terminal.ts'
import { suspensionOf } from './users.ts'

type CreateOptions = { maxUses?: number; expiresIn?: number }

/** `invites …`. Contract: 4. */
export function defineInviteCommands(program: Command, define: Define): void {
  const invites = program.command('invites').description('Invite links')
  define(
    invites.command('list').description('Usable invites, newest first').option('--archived', 'those that have ended'),
    listInvites,
  )
  define(
    invites
      .command('create <name>')
      .description('Makes an invite link')
      .option('--max-uses <number>', 'how many accounts it admits; without it any number', readCount)
      .option('--expires-in <duration>', 'such as 7d, 12h or 30m; without it never', readDuration),
    async ({ call, now }, options: CreateOptions, name: string) => {
      const expiresAt = options.expiresIn === undefined ? null : now() + options.expiresIn
      const invite = await call({
        endpoint: 'createInvite',
        body: { name, maxUses: options.maxUses ?? null, expiresAt },
      })
      return { json: invite, text: describeInvite(invite as InviteReply) }
    },
  )
  define(
    invites
      .command('suspend-users <id>')
      .description('Suspends all accounts that came by an invite')
      .option('--reason <text>', 'what they read at the login'),
    suspendUsers,
  )
  define(
    invites.command('revoke <id>').description('Ends an invite link at once'),
    async ({ call }, _options, id: string) => {
      const { invite } = await call({ endpoint: 'revokeInvite', params: { id } })
      return { json: invite, text: `The invite ${(invite as InviteReply).name} is revoked` }
    },
  )
}

/** Each account alone: those that cannot be suspended stand in no other's way. Contract: 5, suspend. */
async function suspendUsers(invocation: Invocation, { reason }: { reason?: string }, id: string): Promise<Result> {
  await invocation.confirm(`All accounts that came by the invite ${id} are suspended.`)
  const [suspended, left]: [string[], string[]] = [[], []]
  for (let cursor: string | null = '0'; cursor !== null;) {
    const query = { invite: id, sort: 'oldest', pageSize: 100, ...(cursor !== '0' && { cursor }) }
    const reply = await invocation.call({ endpoint: 'listUsers', query })
    for (const user of reply['users'] as UserReply[]) {
      const refusal = await refusalOf(invocation.call(suspensionOf(user.id, reason)))
      if (refusal === null) suspended.push(user.username)
      else left.push(`${user.username}: ${refusal}`)
    }
    cursor = reply['nextCursor'] as string | null
  }
  const lines = [`${suspended.length} accounts are suspended`, ...left]
  return { json: { suspended, left }, text: lines.join('\n') }
}

async function refusalOf(call: Promise<unknown>): Promise<string | null> {
  try {
    await call
    return null
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === exitCodes.refused) return error.message
    throw error
  }
}

async function listInvites({ call }: Invocation, { archived }: { archived?: boolean }): Promise<Result> {
  const found: InviteReply[] = []
  for (let cursor: string | null = null; ;) {
    const query = { status: archived ? 'archived' : 'active', ...(cursor !== null && { cursor }) }
    const reply: Record<string, unknown> = await call({ endpoint: 'listInvites', query })
    found.push(...(reply['invites'] as InviteReply[]))
    cursor = reply['nextCursor'] as string | null
    if (cursor === null) break
  }
  const rows = found.map(({ id, name, status, usedCount, maxUses, expiresAt, url }) => {
    return [id, name, status, `${usedCount}/${maxUses ?? '∞'}`, formatTime(expiresAt), url]
  })
  return { json: found, text: table(['id', 'name', 'status', 'used', 'expires (UTC)', 'link'], rows) }
}

const describeInvite = ({ id, name, maxUses, expiresAt, url }: InviteReply): string =>
  record({
    id,
    name,
    'most uses': maxUses ?? 'any number',
    'expires (UTC)': formatTime(expiresAt) ?? 'never',
    link: url,
  })

const unitMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function readDuration(value: string): number {
  const [, count, unit = ''] = /^([1-9][0-9]{0,5})([mhdw])$/.exec(value) ?? []
  if (!count) throw new InvalidArgumentError('It must look like 7d, 12h or 30m.')
  return Number(count) * (unitMs[unit] ?? 0)
}

function readCount(value: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(value)) throw new InvalidArgumentError('It must be a whole number from 1.')
  return Number(value)
}
