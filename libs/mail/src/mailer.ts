import type { MailLanguage } from '@gatehouse/contracts'
import type { MailConfig } from '@gatehouse/service-kit'
import { policy } from './policy.ts'

export type Message = {
  messageId: string
  to: string
  /** Where MAIL_FROM names none. */
  sender: string
  language: MailLanguage
  written: { subject: string; text: string; html: string }
  at: Date
}

/** Null: sent. `isOfAddress`: the server does not know it. */
export type Failure = { outcome: 'refused' | 'failed' | 'unreachable'; isOfAddress: boolean; log: object }
export type Mailer = Awaited<ReturnType<typeof openMailer>>

/** Loads nodemailer, which an instance without mail does not need. Contract: 3, Mail; 8, SMTP_URL. */
export async function openMailer(config: MailConfig) {
  const { createTransport } = await import('nodemailer')
  const { host, port, tls, ca, auth, from, attemptMs = policy.mailAttemptMs } = config
  const transport = createTransport({
    host,
    port,
    secure: tls === 'start',
    requireTLS: tls === 'upgrade',
    ignoreTLS: tls === 'none',
    ...(auth && { auth, forceAuth: true }),
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
    pool: true,
    maxConnections: policy.mailConnections,
    maxRequeues: 0,
    idleTimeout: policy.mailIntervalMs,
    connectionTimeout: attemptMs / 4,
    greetingTimeout: attemptMs / 4,
    socketTimeout: attemptMs / 2,
    dnsTimeout: attemptMs / 4,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    /** Never rejects. The address is a part of the envelope and a header of its own: nodemailer encodes both. */
    async send({ messageId, to, sender, language, written, at }: Message): Promise<Failure | null> {
      try {
        await transport.sendMail({
          from: { name: from.name || sender, address: from.address },
          to: { name: '', address: to },
          messageId,
          date: at,
          ...written,
          headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': language },
          signal: AbortSignal.timeout(attemptMs),
        })
        return null
      } catch (error) {
        return judge(error as SmtpError)
      }
    },
    /** Connects and logs in. */
    verify: async () => void (await transport.verify()),
    [Symbol.dispose]: () => transport.close({ force: true }),
  }
}

type SmtpError = Error & { code?: string; command?: string; responseCode?: number; response?: string }

/** What the server answers may name the address: the log has its codes alone. RFC 5321, 4.2; RFC 3463. */
function judge({ code, command, responseCode, response = '' }: SmtpError): Failure {
  const [enhanced] = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(response) ?? []
  const log = { code, command, responseCode, enhanced }
  if (responseCode === undefined) return { outcome: 'unreachable', isOfAddress: false, log }
  const isOfMail = command === 'RCPT TO' || command === 'DATA'
  const isRefused = isOfMail && responseCode >= 500
  // A policy of the server, as for a sender that it does not know.
  const isOfPolicy = enhanced?.startsWith('5.7.') ?? false
  return { outcome: isRefused ? 'refused' : 'failed', isOfAddress: isRefused && !isOfPolicy, log }
}
