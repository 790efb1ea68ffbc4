import { settingsBody, type auditEntryReply } from '@gatehouse/contracts'
import type { Command } from 'commander'
import type { z } from 'zod'
import { CommandFailure } from '../failure.ts'
import type { Define } from '../invocation.ts'
import { formatTime, record, table } from '../terminal.ts'

const names = Object.keys(settingsBody.shape)

/** `settings …`. Contract: 5, settings. */
export function defineSettingCommands(program: Command, define: Define): void {
  const settings = program.command('settings').description(`Instance settings; to set: ${names.join(', ')}`)
  define(
    settings.command('get [name]').description('All settings, or one'),
    async ({ call }, _options, name?: string) => {
      const all = await call({ endpoint: 'getSettings' })
      if (name !== undefined && !(name in all)) throw unknownSetting(name, Object.keys(all))
      const shown = name === undefined ? all : { [name]: all[name] }
      return { json: shown, text: record(shown) }
    },
  )
  define(
    settings
      .command('set <name>')
      .argument('<value>', 'true, false, or a text; null hands registrationOpen back to the environment')
      .description('Changes one setting'),
    async ({ call }, _options, name: string, value: string) => {
      const changed = await call({ endpoint: 'patchSettings', body: { [readName(name)]: readValue(name, value) } })
      return { json: { [name]: changed[name] }, text: record({ [name]: changed[name] ?? 'null' }) }
    },
  )
}

function readName(name: string): string {
  if (!names.includes(name)) throw unknownSetting(name, names)
  return name
}

function unknownSetting(name: string, known: readonly string[]): CommandFailure {
  return new CommandFailure('usage', `no setting ${name}: there are ${known.join(', ')}`)
}

function readValue(name: string, value: string): unknown {
  if (name === 'instanceName') return value
  const known: Record<string, unknown> = { true: true, false: false, null: null }
  return value in known ? known[value] : value
}

type AuditEntry = z.infer<typeof auditEntryReply>

/** `audit list`. Contract: 5, audit. */
export function defineAuditCommands(program: Command, define: Define): void {
  const audit = program.command('audit').description('What admins and the operator did')
  define(
    audit
      .command('list')
      .description('The acts, newest first')
      .option('--limit <number>', 'at most this many, up to 100', '50')
      .option('--actor <id>', 'the acts of one admin, or of the operator')
      .option('--subject <id>', 'what was done with one user, invite or peer')
      .option('--action <action>', 'such as user.deleted')
      .option('--after <day>', 'from this day on, such as 2026-11-23 (UTC)')
      .option('--before <day>', 'until the end of this day')
      .option('--cursor <cursor>', 'from the page before'),
    async ({ call }, options: Record<string, string>) => {
      const reply = await call({ endpoint: 'listAudit', query: options })
      const rows = (reply['entries'] as AuditEntry[]).map((entry) => {
        const target = [entry.targetType, entry.targetId, entry.targetName].filter((part) => part !== null).join(' ')
        return [formatTime(entry.createdAt), entry.actorUsername, entry.action, target, JSON.stringify(entry.detail)]
      })
      const next = reply['nextCursor'] === null ? '' : `\nmore with --cursor ${reply['nextCursor'] as string}`
      return { json: reply, text: `${table(['time (UTC)', 'actor', 'act', 'target', 'detail'], rows)}${next}` }
    },
  )
}
