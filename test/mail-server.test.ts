import type { MailConfig } from '@gatehouse/service-kit'
import { startSmtpServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { createAuthority } from '../libs/database/test/certificates.ts'
import { openMailer } from '@gatehouse/mail'

/** Contract: 8, SMTP_URL. */
describe('The sender of mail connects', () => {
  const authority = createAuthority('the authority of the tests')
  const right = authority.sign({ names: ['localhost', '127.0.0.1'] })
  const ofOther = authority.sign({ names: ['mail.example'] })
  const from = { name: '', address: 'noreply@here.example' }
  const base = { host: 'localhost', tls: 'none', hourlyLimit: 1, from } as const
  const login = { user: 'gate', pass: 'p@ss word' }
  async function outcome(options: Parameters<typeof startSmtpServer>[0], mail: Partial<MailConfig>) {
    await using own = await startSmtpServer(options)
    using mailer = await openMailer({ ...base, port: own.port, ...mail })
    const written = { subject: 'a', text: 'b', html: 'c' }
    const message = {
      messageId: '<1@here.example>',
      to: 'a@mail.example',
      sender: 'G',
      language: 'en',
      written,
    } as const
    const failure = await mailer.send({ ...message, at: new Date(0) })
    return failure ? failure.outcome : own.mails.map(({ secure }) => `sent ${secure ? 'by TLS' : 'in the open'}`)[0]
  }
  const { cert: ca } = authority

  it('by TLS from the start or by STARTTLS, verified by the given authority and the name, and never without', async () => {
    expect(await outcome({ certificate: right, secure: true }, { tls: 'start', ca })).to.equal('sent by TLS')
    expect(await outcome({ certificate: right }, { tls: 'upgrade', ca })).to.equal('sent by TLS')
    expect(await outcome({ certificate: right }, { tls: 'upgrade' })).to.equal('unreachable')
    expect(await outcome({ certificate: ofOther }, { tls: 'upgrade', ca })).to.equal('unreachable')
    expect(await outcome({ certificate: ofOther, secure: true }, { tls: 'start', ca })).to.equal('unreachable')
    expect(await outcome({}, { tls: 'upgrade', ca })).to.not.match(/^sent/)
    expect(await outcome({}, { tls: 'none' })).to.equal('sent in the open')
  })

  it('with a name and a password', async () => {
    const secured = { tls: 'upgrade', ca } as const
    expect(await outcome({ certificate: right, login }, { ...secured, auth: login })).to.equal('sent by TLS')
    expect(await outcome({ certificate: right, login }, { ...secured, auth: { ...login, pass: 'no' } })).to.equal(
      'failed',
    )
  })
})
