import type { InviteReply } from '@gatehouse/contracts'
import { InvalidArgumentError, type Command } from 'commander'
import type { Define, Invocation, Result } from '../invocation.ts'
import { formatTime, record, table } from '../terminal.ts'

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
      .command('create')
      .argument('<name>')
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
    invites.command('revoke').argument('<id>').description('Ends an invite link at once'),
    async ({ call }, _options, id: string) => {
      const { invite } = await call({ endpoint: 'revokeInvite', params: { id } })
      return { json: invite, text: `The invite ${(invite as InviteReply).name} is revoked` }
    },
  )
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
