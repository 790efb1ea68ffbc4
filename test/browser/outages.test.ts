import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { answered, eventually, startNats, type LocalServer } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page, WebSocketRoute } from 'playwright-core'
import { dataFolder } from '../../tools/setup/project.js'
import * as actions from './actions.ts'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'

type ProxyAnswer = readonly [status: number, type: string, body: string]
const proxyAnswers: readonly ProxyAnswer[] = [
  [404, 'text/plain', '404 page not found'],
  [403, 'text/html', '<h1>Forbidden</h1>'],
  [401, 'text/html', '<h1>Unauthorized</h1>'],
  [404, 'application/json', '{"message":"no Route matched"}'],
  [200, 'text/html', '<h1>Sign in</h1>'],
  [302, 'text/html', ''],
]
const fileTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

describe('outages in the browser', () => {
  const resources = new AsyncDisposableStack()
  let nats: LocalServer
  let instance: Instance
  let browser: Browser
  let adminToken: string
  let userId: string

  before(async () => {
    nats = resources.use(await startNats())
    instance = resources.use(await startInstance('outages', { natsUrl: nats.url }))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const register = async (username: string) => {
      const reply = await answered(postJson(instance, '/api/auth/register', { username, password }))
      return (await reply.json()) as { token: string; user: { id: string } }
    }
    adminToken = (await register('alice')).token
    userId = (await register('grace')).user.id
  })

  after(() => resources.disposeAsync())

  const lost = (page: Page) => page.locator('.toast').getByText(shown('Connection lost. Reconnecting…'))
  const connected = (page: Page) =>
    page.getByRole('contentinfo').getByText(shown('Connected'), { exact: true }).waitFor()
  const name = (page: Page) => page.getByLabel(/^Display name/)
  const inDialog = (page: Page, text: string) => page.getByRole('dialog').getByText(shownText(text)).waitFor()

  /** What of the header is behind the line of the lost connection. */
  const coveredByLine = (page: Page) =>
    page.evaluate(() => {
      const line = document.querySelector('.toast__message--lost')!.getBoundingClientRect()
      return [...document.querySelectorAll('.header :is(a:not(.skip-link), button)')]
        .map((control) => ({ name: control.textContent, box: control.getBoundingClientRect() }))
        .filter(({ box }) => box.left < line.right && box.right > line.left)
        .filter(({ box }) => box.top < line.bottom && box.bottom > line.top)
        .map(({ name }) => name)
    })

  /** Gives what takes the page's network away and back, with the sockets. */
  async function openSwitch(page: Page): Promise<(isOnline: boolean) => Promise<void>> {
    const sockets: WebSocketRoute[] = []
    let isNowOnline = true
    await page.routeWebSocket('**/ws', (socket) => {
      if (!isNowOnline) return void socket.close()
      socket.connectToServer()
      sockets.push(socket)
    })
    return async (isOnline) => {
      isNowOnline = isOnline
      await page.context().setOffline(!isOnline)
      if (!isOnline) for (const socket of sockets.splice(0)) await socket.close()
    }
  }

  /** A connected page whose profile is being edited. */
  async function edit(page: Page, displayName: string): Promise<void> {
    await actions.logIn(page, { username: 'grace', password })
    await actions.waitForHomePage(page)
    await connected(page)
    expect(await lost(page).count()).to.equal(0)
    await actions.click(page, 'Edit profile')
    await actions.fillField(page, 'Display name', displayName)
  }

  /** What was typed is there, is saved, and is shown afterwards. */
  async function saveWhatWasTyped(page: Page, displayName: string): Promise<void> {
    expect(await name(page).inputValue()).to.equal(displayName)
    await actions.clickInDialog(page, 'Save')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page
      .getByRole('region', { name: shown('Profile') })
      .getByRole('heading', { name: shownText(displayName) })
      .waitFor()
    await page.reload()
    await page
      .getByRole('region', { name: shown('Profile') })
      .getByRole('heading', { name: shownText(displayName) })
      .waitFor()
  }

  it('of the browser is said above the page and in the dialog, and the failed act says so beside itself', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    const setOnline = await openSwitch(page)
    await edit(page, 'Grace offline')

    await setOnline(false)
    await lost(page).waitFor()
    for (const width of [360, 900, 1300]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await coveredByLine(page), `${width} px`).to.deep.equal([])
    }
    await inDialog(page, 'Connection lost. Reconnecting…')
    await actions.clickInDialog(page, 'Save')
    await inDialog(page, 'Couldn’t reach this instance.')

    await setOnline(true)
    await lost(page).waitFor({ state: 'detached' })
    await saveWhatWasTyped(page, 'Grace offline')
    await page.context().close()
  })

  it('of the browser leaves no list with its failure: it is read once the connection is back', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    const setOnline = await openSwitch(page)
    await actions.logIn(page, { username: 'grace', password })
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'profile')
    await connected(page)

    await setOnline(false)
    await lost(page).waitFor()
    await actions.openSettings(page, 'sessions')
    const failures = page.locator('main').getByText('Couldn’t reach this instance.')
    await failures.nth(1).waitFor()
    await setOnline(true)

    await actions.waitForText(page, 'This tab')
    await actions.waitForText(page, 'Account created')
    await failures.first().waitFor({ state: 'detached' })
    await page.context().close()
  })

  it('that is a restart of the server is said, and what was typed is saved after it', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await edit(page, 'Grace restarted')

    await instance.stop()
    await lost(page).waitFor()
    await actions.clickInDialog(page, 'Save')
    await inDialog(page, 'Couldn’t reach this instance.')
    await instance.start()

    await lost(page).waitFor({ state: 'detached' })
    await connected(page)
    await saveWhatWasTyped(page, 'Grace restarted')
    await page.context().close()
  })

  it('of NATS keeps the open page connected and saves; a page opened meanwhile says it, and connects by itself', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await edit(page, 'Grace without NATS')
    await nats.kill()

    await saveWhatWasTyped(page, 'Grace without NATS')
    const other = await actions.openPage(browser, instance, '/login')
    await actions.logIn(other, { username: 'grace', password })
    await lost(other).waitFor()
    await nats.start()

    await lost(other).waitFor({ state: 'detached' })
    await connected(other)
    await Promise.all([page.context().close(), other.context().close()])
  })

  it('with a proxy that answers in place of the instance keep the session of a reloaded tab, which connects by itself', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, { username: 'grace', password })
    await actions.waitForHomePage(page)
    const token = await page.evaluate(() => localStorage.getItem('service_token'))
    await instance.stop()
    {
      await using proxy = await startProxy()
      for (const answer of proxyAnswers) {
        proxy.answer = answer
        await page.reload()
        await actions.waitForText(page, 'This instance isn’t responding. Reconnecting…')
        expect(await page.evaluate(() => localStorage.getItem('service_token')))
          .to.equal(token)
          .and.be.a('string')
        expect(new URL(page.url()).pathname).to.equal('/channels/@me')
      }
    }
    await instance.start()

    await actions.waitForHomePage(page)
    await connected(page)
    await page.context().close()
  })

  it('that ends the session leads to the login, which says so, and back to the profile with what was typed', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await edit(page, 'Grace revoked')

    await endSessions()

    await page.waitForURL('**/login')
    await actions.waitForText(page, 'Your session has ended. Please log in again.')
    await actions.waitForText(page, 'Your unsaved changes are still here. Log in to continue.')
    expect(await page.getByRole('dialog').count()).to.equal(0)
    await actions.logIn(page, { username: 'grace', password })
    await page.getByRole('dialog', { name: shown('Edit profile') }).waitFor()
    await saveWhatWasTyped(page, 'Grace revoked')
    await page.context().close()
  })

  it('that ends the session keeps the texts of the instance that an admin has typed', async () => {
    await setAdmin(true)
    const page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, { username: 'grace', password })
    await actions.waitForHomePage(page)
    await connected(page)
    await actions.follow(page, '/admin/settings')
    await actions.fillField(page, 'Rules for everyone', 'Be kind.')

    await endSessions()

    await page.waitForURL('**/login?redirect=%2Fadmin%2Fsettings')
    await actions.waitForText(page, 'Your unsaved changes are still here. Log in to continue.')
    await actions.logIn(page, { username: 'grace', password })
    await actions.click(page, 'Save rules')
    await actions.waitForText(page, 'Changes saved.')
    await page.reload()
    const rules = page.getByLabel(shown('Rules for everyone'))
    await eventually('the rules', async () => (await rules.inputValue()) === 'Be kind.')
    await setAdmin(false)
    await page.context().close()
  })

  it('that ends the session says of another dialog that its entries were not saved, and of an untouched one nothing', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, { username: 'grace', password })
    await actions.waitForHomePage(page)
    await connected(page)
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Delete account')
    await page.getByLabel(shown('Your username')).fill('grace')
    await endSessions()
    await page.waitForURL('**/login?redirect=%2Fsettings%2Fleave')
    await actions.waitForText(page, 'Your unsaved changes were lost.')

    await actions.logIn(page, { username: 'grace', password })
    await page.getByRole('button', { name: shown('Delete account') }).click()
    await page.getByRole('dialog').waitFor()
    expect(await page.getByLabel(shown('Your username')).inputValue()).to.equal('')
    await connected(page)
    await endSessions()
    await actions.waitForText(page, 'Your session has ended. Please log in again.')
    expect(await page.getByText('Your unsaved changes').count()).to.equal(0)
    await page.context().close()
  })

  /** In the place of the instance: it has the files of the web app, and answers all of the API alike. */
  async function startProxy() {
    const folder = join(dataFolder(), 'web')
    const current = { answer: proxyAnswers[0]! }
    const server = createServer(({ url = '/' }, response) => {
      if (/^\/(api|ws)\b/.test(url)) {
        const [status, type, body] = current.answer
        return void response.writeHead(status, { 'content-type': type, location: '/portal' }).end(body)
      }
      const file = extname(url) ? url : '/index.html'
      const type = fileTypes[extname(file)] ?? 'application/octet-stream'
      response.writeHead(200, { 'content-type': type })
      createReadStream(join(folder, file)).pipe(response)
    })
    server.listen(instance.port, '127.0.0.1')
    await once(server, 'listening')
    const close = async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    return Object.assign(current, { [Symbol.asyncDispose]: close })
  }

  async function setAdmin(isAdmin: boolean): Promise<void> {
    const url = `http://127.0.0.1:${instance.port}/api/admin/users/${userId}/role`
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    await answered(fetch(url, { method: 'PATCH', headers, body: JSON.stringify({ isAdmin }) }))
  }

  async function endSessions(): Promise<void> {
    await answered(postJson(instance, `/api/admin/users/${userId}/sessions/end`, {}, adminToken))
  }
})
