import { emailKeyOf, type confirmEmailBody, type EmailReply, type setEmailBody } from '@gatehouse/contracts'
import { Email, Mail, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { endWaitingLinks, enqueueLink, enqueueNotice } from '../../mail/outbox.ts'
import { policy } from '../../policy.ts'
import { changeConfirmed, type Confirmed } from '../credentials/verify-password.ts'

type EmailDeps = Pick<Deps, 'orm' | 'hasher' | 'databaseTime' | 'random' | 'config' | 'encryptionKey'>
type Setting = Omit<z.infer<typeof setEmailBody>, 'password' | 'ticket'> & Confirmed

/**
 * Sends a link that confirms the address, in place of an earlier one. The address that was confirmed hears of another one. Throws
 * mail_off, native_account_required, email_limit, and as `verifyOwnPassword`. Contract: 3, Mail.
 */
export async function setEmail(deps: EmailDeps, { email: address, language, ...confirmation }: Setting) {
  if (!deps.config.mail) throw refuse.mail_off()
  const email = await changeConfirmed(deps, { ...confirmation, judge: requireLocal }, async (user, em) => {
    const former = await em.findOne(Email, { userId: user.id })
    const chosen = language ?? former?.language ?? 'en'
    const isKept = former?.address === address && former.confirmedAt != null && former.bouncedAt == null
    if (isKept) former.language = chosen
    return isKept ? former.reply : await replace(deps, em, { user, former, address, language: chosen })
  })
  return { success: true as const, email: email as EmailReply }
}

function requireLocal(user: User): void {
  if (!user.isLocal()) throw refuse.native_account_required()
}

type Replacement = { user: User; former: Email | null; address: string; language: Email['language'] }

async function replace(deps: EmailDeps, em: EntityManager, { user, former, address, language }: Replacement) {
  const userId = user.id
  const at = await deps.databaseTime(em)
  await refuseTooMany(em, userId, at)
  const key = emailKeyOf(address)
  if (former?.key !== key) await enqueueNotice(em, { user, kind: 'email_changed', at })
  await endRecovery(em, user)
  const { mailLinkMs: lifeMs } = policy
  const linkHash = await enqueueLink(deps, em, {
    user,
    kind: 'confirmation',
    to: { address, key, language },
    at,
    lifeMs,
  })
  const email = former ?? em.create(Email, { userId, language, notices: true })
  const unconfirmed = { confirmedAt: null, bouncedAt: null, linkHash, linkExpiresAt: new Date(at + lifeMs) }
  Object.assign(email, { address, key, language, ...unconfirmed })
  await em.persist(email).flush()
  return email.reply
}

/** By account: what others sent to an address tells nobody of them. Their mails wait for room. */
async function refuseTooMany(em: EntityManager, userId: string, now: number): Promise<void> {
  const where = { userId, kind: 'confirmation', createdAt: { $gt: new Date(now - policy.mailHourMs) } }
  const confirmations = await em.find(Mail, where, { orderBy: { createdAt: 'desc' }, limit: policy.mailsToAddress })
  const oldest = confirmations[policy.mailsToAddress - 1]
  if (!oldest) return
  const retryAfter = Math.ceil((oldest.createdAt.getTime() + policy.mailHourMs - now) / 1_000)
  throw refuse.email_limit({ fields: { retryAfter }, headers: { 'Retry-After': String(retryAfter) } })
}

async function endRecovery(em: EntityManager, user: User): Promise<void> {
  user.endRecovery()
  await endWaitingLinks(em, user.id, 'recovery')
}

/** The address that was confirmed hears of it. Throws as `verifyOwnPassword`. Contract: 3, Mail. */
export async function removeEmail(deps: EmailDeps, confirmation: Confirmed): Promise<void> {
  await changeConfirmed(deps, confirmation, async (user, em) => {
    const userId = user.id
    await enqueueNotice(em, { user, kind: 'email_removed', at: await deps.databaseTime(em) })
    await endRecovery(em, user)
    await endWaitingLinks(em, userId, 'confirmation')
    await em.nativeDelete(Email, { userId })
  })
}

/** Once. Throws email_token_invalid. Contract: 3, Mail. */
export async function confirmEmail(
  { orm, databaseTime }: Pick<Deps, 'orm' | 'databaseTime'>,
  { token }: z.infer<typeof confirmEmailBody>,
): Promise<void> {
  const em = orm.em.fork()
  const now = new Date(await databaseTime(em))
  const confirm = async (link: string): Promise<boolean> => {
    const where = { linkHash: hashSecret(link), linkExpiresAt: { $gt: now } }
    return (await em.nativeUpdate(Email, where, { confirmedAt: now, linkHash: null, linkExpiresAt: null })) === 1
  }
  if (typeof token !== 'string' || !(await confirm(token))) throw refuse.email_token_invalid()
}

/** Kept without an address too. */
export async function chooseNotices(em: EntityManager, userId: string, notices: boolean): Promise<void> {
  await em.upsert(Email, { userId, notices }, { onConflictFields: ['userId'], onConflictMergeFields: ['notices'] })
}
