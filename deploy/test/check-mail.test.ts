import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startSmtpServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { runArguments } from './run-arguments.ts'

/** Contract: 8, SMTP_URL. */
describe('gatehouse check of mail', () => {
  async function check(given: Record<string, string>, ...options: string[]): Promise<string> {
    const elsewhere = { IDENTITY_URL: 'http://127.0.0.1:1', PUBLIC_ORIGIN: 'http://127.0.0.1:1' }
    const { output } = await runArguments(['check', '--json', ...options], { ...elsewhere, ...given })
    const { checks } = JSON.parse(output) as { checks: { check: string; ok: boolean | null; detail: string }[] }
    const found = checks.find((one) => one.check === 'mail')
    return `${found?.ok} ${found?.detail}`
  }

  it('connects and logs in, and names what is wrong without the password', async () => {
    await using server = await startSmtpServer()
    const from = { MAIL_FROM: 'noreply@here.example' }
    const findings = {
      none: await check({}),
      good: await check({ ...from, SMTP_URL: `smtp://127.0.0.1:${server.port}` }),
      login: await check({ ...from, SMTP_URL: `smtp://gate:secret-word@127.0.0.1:${server.port}` }),
      gone: await check({ ...from, SMTP_URL: 'smtp://127.0.0.1:1' }),
    }

    expect(findings).to.include({ none: 'null not configured here', good: 'true 127.0.0.1 answers, with this login' })
    expect(findings.login).to.match(/^false /)
    expect(findings.gone).to.match(/^false .*ECONNREFUSED/)
    expect(JSON.stringify(findings)).to.not.include('secret-word')
  })

  it('sends a test mail to the confirmed address of a user', async () => {
    await using server = await startSmtpServer()
    let confirmed = false
    const instance = createServer(({ url = '' }, response) => {
      const user = { id: '7', username: 'alice' }
      const email = { address: 'alice@mail.example', confirmed }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(url.endsWith('/7') ? { user, email } : { user }))
    }).listen(0, '127.0.0.1')
    await once(instance, 'listening')
    const IDENTITY_URL = `http://127.0.0.1:${(instance.address() as AddressInfo).port}`
    const SMTP_URL = `smtp://127.0.0.1:${server.port}`
    const given = { SMTP_URL, MAIL_FROM: 'noreply@here.example', OPERATOR_SECRET: 'o'.repeat(40), IDENTITY_URL }
    const findings = [await check(given, '--mail', 'alice')]
    confirmed = true
    findings.push(await check(given, '--mail', 'alice'))
    server.behaviour.refuse = () => [550, '5.7.1 relaying denied to <alice@mail.example>']
    findings.push(await check(given, '--mail', 'alice'))
    instance.close()

    expect(findings[0]).to.equal('false alice has no confirmed email address')
    expect(findings[1]).to.equal('true 127.0.0.1 accepted the test mail to alice: look into the mailbox')
    expect(findings[2]).to.match(/^false 127\.0\.0\.1 did not accept the test mail \(.*5\.7\.1/)
    expect(server.mails.map(({ to, subject }) => [to, subject])).to.deep.equal([
      ['alice@mail.example', '127.0.0.1: Test mail'],
    ])
  })
})
