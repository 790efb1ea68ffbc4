import { eventually, freePort, startProtectedWiki } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { openBrowser } from './open-browser.ts'
import { startOpenidInstance } from './openid-instance.ts'

/** Contract: 3, Applications. With another's certified client: Apache and its mod_auth_openidc. */
describe('A wiki behind mod_auth_openidc', () => {
  it('is read by who logs in here, and no longer once an admin has reset the password', async () => {
    await using instance = await startOpenidInstance()
    const { origin, alice } = instance
    const port = await freePort()
    const callback = `http://127.0.0.1:${port}/wiki/callback`
    const { id, secret } = await instance.buildApplication({
      redirectUris: [callback],
      backchannelLogoutUri: `${callback}?logout=backchannel`,
    })
    await using apache = await startProtectedWiki({ issuer: origin, clientId: id, clientSecret: secret, port })
    const browser = openBrowser()

    const page = await instance.allow(browser, apache.url, alice.token)

    expect([page.status, page.text]).to.deep.equal([200, 'The wiki'])
    expect(page.headers.get('x-wiki-user')).to.include('alice')
    const read = async () => (await browser.fetchOnce(apache.url)).status
    expect(await read()).to.equal(200)

    await instance.reset(alice.id)
    const answeredAt = performance.now()
    await eventually('the wiki to ask for a login', async () => (await read()) === 302)

    expect(performance.now() - answeredAt).to.be.lessThan(1_000)
  })
})
