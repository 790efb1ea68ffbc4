import { commonReservations, settingsBody, splitReservations, type auditEntryReply } from '@gatehouse/contracts'
import type { z } from 'zod'
import { CommandFailure } from '../failure.ts'
import { formatTime, record, table, type DefineGroup, type Invocation, type Result } from '../invocation.ts'

const names = Object.keys(settingsBody.shape)
const numeric: readonly string[] = ['denialBlockHours']

/** `settings …`. Contract: 5, settings. */
export function defineSettingCommands(group: DefineGroup): void {
  const define = group('settings', `Manage instance settings: ${names.join(', ')}`)
  define('get [name]', 'Show all settings, or one', async ({ call }, _options, name?: string) => {
    const all = await call({ endpoint: 'getSettings' })
    const shown = name === undefined ? all : { [requireKnown(name, Object.keys(all))]: all[name] }
    return { json: shown, text: record(shown) }
  })
  const values =
    'true, false, a number or text; null makes registrationOpen follow REGISTRATION_OPEN; ' +
    'reservedUsernames are separated by spaces, and @common adds those of roles and services'
  define('set <name>', 'Change a setting', async ({ call }, _options, name: string, value: string) => {
    const body = { [requireKnown(name, names)]: readValue(name, value) }
    const changed = await call({ endpoint: 'patchSettings', body })
    return { json: { [name]: changed[name] }, text: record({ [name]: changed[name] ?? 'null' }) }
  }).argument('<value>', values)
}

function requireKnown(name: string, validNames: readonly string[]): string {
  if (validNames.includes(name)) return name
  throw new CommandFailure('usage', `unknown setting ${name}. Settings: ${validNames.join(', ')}`)
}

function readValue(name: string, value: string): unknown {
  if (numeric.includes(name)) return Number(value)
  const literals: Record<string, unknown> = { true: true, false: false, null: null }
  if (name === 'reservedUsernames')
    return splitReservations(value).flatMap((word) => (word === '@common' ? commonReservations : [word]))
  if (settingsBody.shape[name as keyof typeof settingsBody.shape].safeParse(Number(value)).success) return Number(value)
  return name !== 'instanceName' && value in literals ? literals[value] : value
}

/** `audit list`. Contract: 5, audit. */
export function defineAuditCommands(group: DefineGroup): void {
  const define = group('audit', 'Show the audit log')
  define('list', 'List audit log entries, newest first', listAudit)
    .option('--limit <number>', 'number of entries, up to 100', '50')
    .option('--actor <id>', 'only entries by this admin (ID), or by operator')
    .option('--subject <id>', 'only entries about this user, invite or peer (ID)')
    .option('--action <action>', 'only this action, such as user.deleted')
    .option('--after <day>', 'from this day, such as 2026-11-23 (UTC)')
    .option('--before <day>', 'up to and including this day')
    .option('--cursor <cursor>', 'cursor printed by the previous page')
}

/** A user may be called `operator` too. */
const nameActor = ({ actorId, actorUsername }: z.infer<typeof auditEntryReply>) =>
  actorId === null && actorUsername === 'operator' ? 'operator (command line)' : actorUsername

async function listAudit({ call }: Invocation, options: Record<string, string>): Promise<Result> {
  const reply = await call({ endpoint: 'listAudit', query: options })
  const rows = (reply['entries'] as z.infer<typeof auditEntryReply>[]).map((entry) => {
    const target = [entry.targetType, entry.targetId, entry.targetName].filter((part) => part !== null).join(' ')
    return [formatTime(entry.createdAt), nameActor(entry), entry.action, target, JSON.stringify(entry.detail)]
  })
  const next = reply['nextCursor'] === null ? '' : `\nnext page: --cursor ${reply['nextCursor'] as string}`
  return { json: reply, text: `${table(['time (UTC)', 'actor', 'action', 'target', 'detail'], rows)}${next}` }
}
