import { settingsBody } from '@gatehouse/contracts'
import type { Command } from 'commander'
import { CommandFailure } from '../failure.ts'
import type { Define } from '../invocation.ts'
import { formatTime, record, table } from '../terminal.ts'

const names = Object.keys(settingsBody.shape)

/** `settings …`. Contract: 5, settings. */
export function defineSettingCommands(program: Command, define: Define): void {
  const settings = program.command('settings').description(`Instance settings: ${names.join(', ')}`)
  define(
    settings.command('get').argument('[name]').description('All settings, or one'),
    async ({ call }, _options, name?: string) => {
      const all = await call({ endpoint: 'getSettings' })
      const shown = Object.fromEntries((name ? [readName(name)] : names).map((known) => [known, all[known]]))
      return { json: shown, text: record(shown) }
    },
  )
  define(
    settings
      .command('set')
      .argument('<name>')
      .argument('<value>', 'true, false, or a text; null hands registrationOpen back to the environment')
      .description('Changes one setting'),
    async ({ call }, _options, name: string, value: string) => {
      const changed = await call({ endpoint: 'patchSettings', body: { [readName(name)]: readValue(name, value) } })
      return { json: { [name]: changed[name] }, text: record({ [name]: changed[name] ?? 'null' }) }
    },
  )
}

function readName(name: string): string {
  if (!names.includes(name)) throw new CommandFailure('usage', `no setting ${name}: there are ${names.join(', ')}`)
  return name
}

function readValue(name: string, value: string): unknown {
  if (name === 'instanceName') return value
  const known: Record<string, unknown> = { true: true, false: false, null: null }
  return value in known ? known[value] : value
}

type AuditEntry = {
  id: string
  action: string
  actorUsername: string | null
  targetType: string
  targetId: string | null
  detail: object
  createdAt: number
}

/** `audit list`. Contract: 5, audit. */
export function defineAuditCommands(program: Command, define: Define): void {
  const audit = program.command('audit').description('What admins and the operator did')
  define(
    audit
      .command('list')
      .description('The acts, newest first')
      .option('--limit <number>', 'at most this many, up to 100', '50')
      .option('--cursor <cursor>', 'from the page before'),
    async ({ call }, { limit, cursor }: { limit: string; cursor?: string }) => {
      const reply = await call({ endpoint: 'listAudit', query: { limit, ...(cursor && { cursor }) } })
      const rows = (reply['entries'] as AuditEntry[]).map((entry) => {
        const target = entry.targetId === null ? entry.targetType : `${entry.targetType} ${entry.targetId}`
        return [formatTime(entry.createdAt), entry.actorUsername, entry.action, target, JSON.stringify(entry.detail)]
      })
      const next = reply['nextCursor'] === null ? '' : `\nmore with --cursor ${reply['nextCursor'] as string}`
      return { json: reply, text: `${table(['time (UTC)', 'actor', 'act', 'target', 'detail'], rows)}${next}` }
    },
  )
}
