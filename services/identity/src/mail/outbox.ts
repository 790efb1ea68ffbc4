import { encrypt, mailContext } from '@gatehouse/auth'
import type { MailLanguage } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { Mail, type MailData, type User } from '@gatehouse/domain'
import type { NoticeKind } from '@gatehouse/mail'
import { randomToken } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { hashSecret } from '../hashing/hash-secret.ts'
import { policy } from '../policy.ts'

type Notice = { user: Pick<User, 'id' | 'username'>; kind: NoticeKind; at: number; data?: MailData }

type Condition = { sql: string; parameters: unknown[] }
const always: Condition = { sql: 'true', parameters: [] }

/**
 * To the confirmed address of an account, if it has one, in the transaction of the act. Before a change of the address, so that
 * the old one hears of it. Contract: 3, Mail.
 */
export async function enqueueNotice(em: EntityManager, notice: Notice, condition = always): Promise<void> {
  const { user, kind, at, data } = notice
  const sql = `insert into mails (user_id, kind, address, key, language, data, created_at, next_at, expires_at)
    select ?::bigint, ?, address, key, language, ?::jsonb, ?, ?, ? from emails
    where emails.user_id = ? and confirmed_at is not null and ${condition.sql}`
  // Of a deleted account nothing but this mail is left.
  const owner = kind === 'deleted' ? null : user.id
  const facts = JSON.stringify({ ...data, username: user.username, at })
  const times = [new Date(at), new Date(at), new Date(at + policy.mailDayMs)]
  await changeRows(em, sql, [owner, kind, facts, ...times, user.id, ...condition.parameters])
}

type Client = { network: string; device: string | null }

/** Unless the person does not want it, or the client is known. Call it before the login is stored. Contract: 3, Mail. */
export async function noticeLogin(em: EntityManager, login: { user: User; at: number; client: Client }): Promise<void> {
  const { user, at, client } = login
  const sql = `notices and not exists (select from sign_ins where sign_ins.user_id = ? and network = ?
    and device is not distinct from ?::text and signed_in_at > ?)`
  const parameters = [user.id, client.network, client.device, new Date(at - policy.clientKnownMs)]
  await enqueueNotice(em, { user, kind: 'login', at, data: client }, { sql, parameters })
}

type LinkDeps = Pick<Deps, 'random' | 'encryptionKey'>
type Link = {
  user: User
  kind: 'confirmation' | 'recovery'
  to: { address: string; key: string; language: MailLanguage }
  at: number
  lifeMs: number
}

/** A mail is sent only while its link is good. Gives the hash of the link's secret. */
export async function enqueueLink({ random, encryptionKey }: LinkDeps, em: EntityManager, link: Link): Promise<string> {
  const { user, kind, at, lifeMs } = link
  const { address, key, language } = link.to
  await endWaitingLinks(em, user.id, kind)
  const messageId = random.uuid()
  const secret = randomToken(random, policy.mailSecretBytes)
  await em.insert(Mail, {
    messageId,
    userId: user.id,
    kind,
    address,
    key,
    language,
    data: { username: user.username, at },
    secret: encrypt(encryptionKey, secret, mailContext(messageId)),
    createdAt: new Date(at),
    nextAt: new Date(at),
    expiresAt: new Date(at + lifeMs),
  })
  return hashSecret(secret)
}

/** Links that wait lead nowhere any more. They count for the limits. */
export async function endWaitingLinks(em: EntityManager, userId: string, ...kinds: Link['kind'][]): Promise<void> {
  const waiting = { userId, kind: { $in: kinds }, nextAt: { $ne: null } }
  await em.nativeUpdate(Mail, waiting, { nextAt: null, secret: null })
}
