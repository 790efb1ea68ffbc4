import { once } from 'node:events'
import type { Server } from 'node:http'
import { answered, eventually, freePort } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { createPage } from '../examples/applications/page.ts'
import { createReceiver } from '../examples/applications/receiver.ts'
import { openBrowser } from './open-browser.ts'
import { startOpenidInstance } from './openid-instance.ts'

/** Contract: 3, Applications. The examples, with openid-client and jose, over the whole path. */
describe('examples/applications', () => {
  const opened = new AsyncDisposableStack()
  let instance: Awaited<ReturnType<typeof startOpenidInstance>>
  let page: string
  const told: object[] = []
  before(async () => {
    // As by default, and as docs/integrate/applications.md has it.
    instance = opened.use(await startOpenidInstance({}, 'localhost'))
    const [pagePort, receiverPort] = [await freePort(), await freePort()]
    const listen = async (server: Server, port: number) => {
      await once(server.listen(port, '127.0.0.1'), 'listening')
      opened.defer(() => (server.closeAllConnections(), void server.close()))
    }
    page = `http://127.0.0.1:${pagePort}`
    const application = await instance.buildApplication({
      redirectUris: [`${page}/callback`],
      backchannelLogoutUri: `${page}/logout`,
      signalsUri: `http://127.0.0.1:${receiverPort}/signals`,
    })
    const { id: clientId, secret: clientSecret } = application
    const options = { issuer: instance.origin, clientId }
    await listen(await createPage({ ...options, clientSecret, origin: page }), pagePort)
    await listen(createReceiver({ ...options, onEvent: (event) => void told.push(event) }), receiverPort)
  })
  after(() => opened.disposeAsync())

  const kindsOf = (events: readonly object[]) =>
    events.map((event) =>
      Object.keys((event as { events: object }).events)[0]
        ?.split('/')
        .at(-1),
    )

  it('greets who logs in, forgets who is reset, and prints why', async () => {
    const { alice, reset } = instance
    const browser = openBrowser()
    const greeted = await instance.allow(browser, page, alice.token)
    expect(greeted.text).to.equal('Hello alice')
    expect((await browser.fetchOnce(page)).status).to.equal(200)

    await reset(alice.id)

    await eventually('the page to forget', async () => (await browser.fetchOnce(page)).status === 303)
    await eventually('both signals', () => told.length === 2)
    const kinds = told.map((event) =>
      Object.keys((event as { events: object }).events)[0]
        ?.split('/')
        .at(-1),
    )
    expect(kinds).to.deep.equal(['session-revoked', 'credential-change'])
    expect(told[0]).to.have.deep.property('sub_id', { format: 'iss_sub', iss: instance.origin, sub: alice.id })
  })

  it('forgets who is deleted, and is told so', async () => {
    const bob = await instance.register('bob')
    const browser = openBrowser()
    expect((await instance.allow(browser, page, bob.token)).text).to.equal('Hello bob')
    const { body } = await instance.call('GET', '/api/users/@me/applications', { token: bob.token })
    expect((body['applications'] as { name: string }[]).map(({ name }) => name)).to.deep.equal(['Wiki'])
    told.length = 0

    await answered(instance.asAdmin('DELETE', `/api/admin/users/${bob.id}`, {}))

    await eventually('the page to forget', async () => (await browser.fetchOnce(page)).status === 303)
    await eventually('the signals', () => told.length === 2)
    expect(kindsOf(told)).to.deep.equal(['session-revoked', 'account-purged'])
    const sql = 'select 1 from application_consents where account_id = ?'
    await eventually('nothing to be left', async () => {
      return (await instance.deps.orm.em.fork().execute<unknown[]>(sql, [bob.id])).length === 0
    })
  })

  it('takes nothing that another has signed, or that is for another', async () => {
    const body = new URLSearchParams({ logout_token: 'e30.e30.e30' })
    const refused = await fetch(`${page}/logout`, { method: 'POST', body })
    expect(refused.status).to.equal(400)
    expect(await refused.json()).to.include({ error: 'invalid_request' })
  })
})
