import { decrypt, mailContext } from '@gatehouse/auth'
import { bigintArray, changeRows, read, transaction } from '@gatehouse/database'
import { Email, Mail } from '@gatehouse/domain'
import { mailIntervalMs, openMailer, renderMail, type Failure, type Mailer, type MailKind } from '@gatehouse/mail'
import { startPeriodicTask, backoffMs, delay } from '@gatehouse/runtime'
import type { MailConfig } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { resolveRecoveryRequests, type SenderDeps } from './resolve-recovery-requests.ts'

type SendingDeps = SenderDeps & { mailer: Pick<Mailer, 'send'>; mail: MailConfig }

/** Any number of replicas may run it. Nothing is sent, or loaded for it, without SMTP_URL. Contract: 3, Mail. */
export async function startMailSender(deps: SenderDeps & Pick<Deps, 'timer'>): Promise<AsyncDisposable> {
  const { orm, metrics, log, timer, config } = deps
  await using opening = new AsyncDisposableStack()
  const { mail } = config
  if (mail) {
    const waiting = () => orm.em.fork().count(Mail, { nextAt: { $ne: null } })
    metrics.gauge('gatehouse_mails_waiting', 'Mails that are not sent yet', () => waiting().catch(() => Number.NaN))
    const mailer = await openMailer(mail)
    const task = startPeriodicTask({ name: 'mail', everyMs: mailIntervalMs, log, timer }, async () => {
      await resolveRecoveryRequests(deps)
      await sendDueMails({ ...deps, mailer, mail }, (ms) => delay(timer, ms))
    })
    opening.use(task)
    // First, so that the task does not wait for a server that hangs.
    opening.use(mailer)
  }
  return opening.move()
}

/**
 * At least once, in the order in which they are due. Stops while the server cannot be reached. `pause`, in milliseconds, comes
 * before each mail of a batch, so that a fast mail server leaves time for requests.
 */
export async function sendDueMails(deps: SendingDeps, pause?: (ms: number) => Promise<void>): Promise<void> {
  for (;;) {
    const { taken, isMore } = await takeDue(deps)
    if (taken.length > 0) {
      const { instanceName } = await loadSettings(deps.orm.em)
      const sending = taken.map(async (mail, place) => {
        await pause?.(place * policy.mailMs)
        return await send(deps, mail, instanceName)
      })
      const outcomes = await Promise.all(sending)
      if (outcomes.includes('unreachable')) return
    }
    if (!isMore) return
  }
}

async function send(deps: SendingDeps, mail: Mail, instance: string): Promise<Failure['outcome'] | 'sent'> {
  const { clock, log, metrics } = deps
  const failure = await deliver(deps, mail, instance)
  const outcome = failure?.outcome ?? 'sent'
  mailsCounter(metrics).inc({ outcome })
  if (failure) log.warn({ mailId: mail.id, kind: mail.kind, ...failure.log }, `mail ${outcome}`)
  await transaction(deps.orm, (em) => record(em, { mail, failure, now: new Date(clock.now()) }))
  return outcome
}

/** One that cannot be written, as of a kind that only a newer replica knows, waits like a failed one and holds up no other. */
async function deliver({ mailer, ...deps }: SendingDeps, mail: Mail, sender: string): Promise<Failure | null> {
  const { origin, domain } = deps.config.publicAddress
  const { address: to, language, createdAt: at } = mail
  const messageId = `<${mail.messageId}@${domain}>`
  try {
    const given = { ...mail, kind: mail.kind as MailKind, instance: sender, origin, token: tokenOf(deps, mail) }
    return await mailer.send({ messageId, to, sender, language, written: renderMail(given), at })
  } catch {
    // Without its cause, which may quote the secret of a link.
    return { outcome: 'failed', isOfAddress: false, log: { code: 'UNWRITTEN' } }
  }
}

const mailsCounter = (metrics: Deps['metrics']) =>
  metrics.counter('gatehouse_mails_total', 'Attempts to send a mail by outcome', ['outcome'])

/** A link of a recovery names its account too. Contract: 3, recover. */
function tokenOf(
  { encryptionKey }: Pick<SendingDeps, 'encryptionKey'>,
  { kind, userId, secret, messageId }: Mail,
): string {
  const plain = secret == null ? '' : decrypt(encryptionKey, secret, mailContext(messageId))
  return kind === 'recovery' ? `${userId}.${plain}` : plain
}

/** What is over keeps nothing but what the limits count. */
async function record(em: EntityManager, { mail, failure, now }: { mail: Mail; failure: Failure | null; now: Date }) {
  const { id, userId, address, attempts } = mail
  if (failure && failure.outcome !== 'refused') {
    const nextAt = new Date(now.getTime() + backoffMs(attempts - 1, policy.mailBackoff))
    return void (await em.nativeUpdate(Mail, { id, nextAt: { $ne: null } }, { nextAt }))
  }
  await em.nativeUpdate(Mail, { id }, { nextAt: null, secret: null, data: {} })
  if (userId == null || (failure && !failure.isOfAddress)) return
  await em.nativeUpdate(Email, { userId, address }, { bouncedAt: failure ? now : null })
}

const hourOf = (now: number) => new Date(now - policy.mailHourMs)

/**
 * With a lease, which a crash of this replica ends. One replica takes at a time, so that the limits are exact; others come back
 * at their next turn. What is beyond the limit of its address waits until there is room.
 */
async function takeDue(deps: SendingDeps): Promise<{ taken: Mail[]; isMore: boolean }> {
  const now = deps.clock.now()
  const waiting = await read(deps.orm.em.fork(), 'select from mails where next_at <= ? limit 1', [new Date(now)])
  if (waiting.length === 0) return { taken: [], isMore: false }
  return await transaction(deps.orm, async (em) => {
    const lock = `select pg_try_advisory_xact_lock(hashtextextended('mail', 0)) as "isMine"`
    const [{ isMine } = { isMine: false }] = await read<{ isMine: boolean }>(em, lock)
    if (!isMine) return { taken: [], isMore: false }
    await giveUp(deps, em, now)
    const room = deps.mail.hourlyLimit - (await em.count(Mail, { triedAt: { $gt: hourOf(now) } }))
    const limit = Math.min(room, policy.mailsAtOnce)
    if (limit <= 0) return { taken: [], isMore: false }
    const sql = `select id::text as id, key from mails where next_at <= ? order by next_at limit ? for update skip locked`
    const due = await read<Due>(em, sql, [new Date(now), limit])
    const { allowed, later } = await applyAddressLimit(em, due, now)
    for (const { id, nextAt } of later) await em.nativeUpdate(Mail, { id }, { nextAt })
    const lease = `update mails set next_at = ?, tried_at = ?, attempts = attempts + 1 where id = any(?::bigint[])`
    await changeRows(em, lease, [new Date(now + policy.mailLeaseMs), new Date(now), bigintArray(allowed)])
    const taken = await em.find(Mail, { id: { $in: allowed } }, { orderBy: { id: 'asc' } })
    return { taken, isMore: due.length === limit }
  })
}

type Due = { id: string; key: string }

/** Attempts of one mail count once. */
async function applyAddressLimit(em: EntityManager, due: readonly Due[], now: number) {
  const sql = `select key, count(*)::int as count, floor(extract(epoch from min(tried_at)) * 1000)::float8 as oldest from mails
    where key in (select jsonb_array_elements_text(?::jsonb)) and tried_at > ? and id <> all(?::bigint[]) group by key`
  type Tried = { key: string; count: number; oldest: number }
  const ids = due.map(({ id }) => id)
  const parameters = [JSON.stringify(due.map(({ key }) => key)), hourOf(now), bigintArray(ids)]
  const tried = await read<Tried>(em, sql, parameters)
  const byKey = new Map(tried.map((one) => [one.key, one]))
  const later: { id: string; nextAt: Date }[] = []
  const allowed = due.flatMap(({ id, key }) => {
    const { count, oldest } = byKey.get(key) ?? { count: 0, oldest: now }
    byKey.set(key, { key, count: count + 1, oldest })
    if (count < policy.mailsToAddress) return [id]
    later.push({ id, nextAt: new Date(oldest + policy.mailHourMs) })
    return []
  })
  return { allowed, later }
}

/** After a day, or when the link of a mail has expired. */
async function giveUp({ metrics, log }: SendingDeps, em: EntityManager, now: number): Promise<void> {
  const sql = `update mails set next_at = null, secret = null, data = '{}' where id in (
    select id from mails where next_at <= ? and expires_at <= ? for update skip locked)`
  const count = await changeRows(em, sql, [new Date(now), new Date(now)])
  if (count === 0) return
  mailsCounter(metrics).inc({ outcome: 'given_up' }, count)
  log.error({ count }, 'mails given up')
}
