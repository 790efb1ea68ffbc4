import type { MailLanguage } from '@gatehouse/contracts'
import { Email, type User } from '@gatehouse/domain'
import { emailKeyOf } from '@gatehouse/contracts'
import type { MailConfig } from '@gatehouse/service-kit'
import type { ReceivedMail, TestSmtpServer } from '@gatehouse/test-kit'
import { openMailer } from '@gatehouse/mail'
import { resolveRecoveryRequests } from '../src/mail/resolve-recovery-requests.ts'
import { sendDueMails } from '../src/mail/send-mails.ts'
import type { TestIdentity } from './harness.ts'

/** To a server on this machine, in the open. */
export const mailTo = ({ port }: Pick<TestSmtpServer, 'port'>, overrides: Partial<MailConfig> = {}): MailConfig => ({
  host: '127.0.0.1',
  port,
  tls: 'none',
  hourlyLimit: 100_000,
  attemptMs: 20_000,
  from: { name: '', address: 'noreply@here.example' },
  ...overrides,
})

/** What the periodic task of a replica does. */
export async function sendMails({ deps }: Pick<TestIdentity, 'deps'>, mail: MailConfig = deps.config.mail!) {
  using mailer = await openMailer(mail)
  await resolveRecoveryRequests(deps)
  await sendDueMails({ ...deps, mailer, mail })
}

type Overrides = { address?: string; language?: MailLanguage; notices?: boolean; confirmed?: boolean }

/** A confirmed address, unless told otherwise. */
export async function giveEmail({ deps }: Pick<TestIdentity, 'deps'>, user: User, overrides: Overrides = {}) {
  const { address = `${user.username}@mail.example`, language = 'en', notices = true, confirmed = true } = overrides
  const confirmedAt = confirmed ? new Date(deps.clock.now()) : null
  const row = { userId: user.id, address, key: emailKeyOf(address), language, notices, confirmedAt }
  await deps.orm.em.fork().insert(Email, row)
  return address
}

/** Behind the `#` of the link. */
export function tokenIn({ text }: ReceivedMail): string {
  const [, token = ''] = /https:\/\/here\.example\/[a-z-]+#(?:token=)?(\S+)/.exec(text) ?? []
  return token
}
