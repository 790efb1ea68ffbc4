import { once } from 'node:events'
import { join } from 'node:path'
import { eventually, freePort } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import { createPage } from '../../examples/applications/page.ts'
import { dataFolder } from '../../tools/setup/project.js'
import { password, startOpenidInstance } from '../openid-instance.ts'
import * as actions from './actions.ts'

/** Contract: 3, Applications. The example as a wiki, with openid-client, in a browser. */
describe('a person in a wiki that logs people in with this instance', () => {
  it('logs in and allows it on the pages of the web app, reads, and is out once an admin has reset the password', async () => {
    await using instance = await startOpenidInstance({ WEB_ROOT: join(dataFolder(), 'web') })
    const { origin, alice } = instance
    const port = await freePort()
    const wiki = `http://127.0.0.1:${port}`
    const { id, secret } = await instance.buildApplication({
      redirectUris: [`${wiki}/callback`],
      backchannelLogoutUri: `${wiki}/logout`,
    })
    await using closing = new AsyncDisposableStack()
    const server = await createPage({ issuer: origin, clientId: id, clientSecret: secret, origin: wiki })
    await once(server.listen(port, '127.0.0.1'), 'listening')
    closing.defer(() => (server.closeAllConnections(), void server.close()))
    const browser = closing.adopt(await launchChromium(), (open) => open.close())
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const page = await context.newPage()

    await page.goto(wiki)
    await page.waitForURL(`${origin}/login?**`)
    await actions.logIn(page, { username: 'alice', password })
    await actions.waitForText(page, 'See your username, display name and avatar')
    await actions.click(page, 'Allow')
    await page.getByText('Hello alice').waitFor()
    const read = async () => (await context.request.get(wiki, { maxRedirects: 0 })).status()
    expect(await read()).to.equal(200)

    await instance.reset(alice.id)

    await eventually('the wiki to ask for a login', async () => (await read()) === 303)
    await page.goto(wiki)
    await page.waitForURL(`${origin}/login?**`)
  })
})
