import { policy } from './policy.ts'

export { openMailer, type Failure, type Mailer } from './mailer.ts'
export { renderMail } from './render.ts'
export type { MailKind, NoticeKind } from './texts.ts'
export const { mailIntervalMs } = policy
