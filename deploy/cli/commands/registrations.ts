import { limits, type RegistrationDecision, type WaitingRegistrationReply } from '@gatehouse/contracts'
import { actOnEach, concluded } from '../act-on-each.ts'
import { CommandFailure } from '../failure.ts'
import { formatTime, table, type DefineGroup, type Invocation, type Result } from '../invocation.ts'
import { pagesOf } from './invites.ts'

/** `registrations …`. Contract: 3, Approval. */
export function defineRegistrationCommands(group: DefineGroup): void {
  const define = group('registrations', 'Manage registrations that wait for approval')
  define('list', 'List registrations, oldest first', listRegistrations).option(
    '--query <text>',
    'part of name or reason',
  )
  define('approve <ids...>', 'Create the accounts', (invocation, _options, ...ids) =>
    decide(invocation, { ids, decision: 'approve' }),
  )
  define('deny <ids...>', 'Deny registrations; for a minute they can be restored', (invocation, options, ...ids) =>
    decide(invocation, { ids, decision: 'deny', ...options }),
  )
    .option('--reason <text>', 'for the audit log')
    .option('--block', 'block registrations from their networks for denialBlockHours')
  define('restore <ids...>', 'Take back denials of the last minute', (invocation, _options, ...ids) =>
    decide(invocation, { ids, decision: 'restore' }),
  )
}

async function listRegistrations(invocation: Invocation, { query: q }: { query?: string }): Promise<Result> {
  const replies: WaitingRegistrationReply[] = []
  for await (const { registrations } of pagesOf(invocation, 'listRegistrations', q ? { q } : {}))
    replies.push(...(registrations as WaitingRegistrationReply[]))
  const rows = replies.map(({ id, username, reason, network, client, provider, createdAt, deniedAt }) => {
    return [id, username, formatTime(createdAt), network, client, provider, deniedAt && 'denied', reason]
  })
  const header = ['id', 'username', 'time (UTC)', 'network', 'client', 'provider', 'state', 'reason']
  return { json: replies, text: table(header, rows) }
}

type Decision = { ids: string[]; decision: RegistrationDecision; reason?: string; block?: boolean }

const outcomes = { approve: 'approved', deny: 'denied', restore: 'restored' }

/** Each on its own. Throws CommandFailure where nothing came of any. */
async function decide({ call }: Invocation, { ids, ...decision }: Decision): Promise<Result> {
  const [decided, missed]: [string[], { id: string; code: string }[]] = [[], []]
  const isBusy = ({ code }: { code: string }) => code === 'unavailable'
  const act = async (part: string[]) => {
    const reply = await call({ endpoint: 'decideRegistrations', body: { ...decision, ids: part } })
    decided.push(...(reply['decided'] as string[]))
    const others = reply['missed'] as typeof missed
    missed.push(...others.filter((other) => !isBusy(other)))
    return others.filter(isBusy).map(({ id }) => id)
  }
  const outcome = await actOnEach(ids, { act, atOnce: limits.decisionsAtOnce })
  const left = outcome.left.map(({ item, reason }) => `${item}: ${reason}`)
  const failures = [...missed.map(({ id, code }) => `${id}: ${code}`), ...left]
  if (decided.length === 0 && !outcome.failure) {
    const isUnknown = left.length === 0 && missed.every(({ code }) => code === 'registration_unknown')
    throw new CommandFailure(isUnknown ? 'unknown' : 'refused', failures.join('\n'))
  }
  const text = [`${decided.length} registrations are ${outcomes[decision.decision]}`, ...failures].join('\n')
  return concluded({ json: { decided, missed, ...(left.length > 0 && { left }) }, text }, outcome)
}
