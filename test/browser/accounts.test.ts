import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, WebSocketRoute } from 'playwright-core'
import { shown } from './shown.ts'
import { newAddress, postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const ada = { username: 'ada', password: 'a long password' }

describe('an account in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })

  after(() => resources.disposeAsync())

  it('is registered in two steps, with a picture, and then shows the home page', async () => {
    const page = await actions.openPage(browser, instance, '/register')
    await actions.fillField(page, 'Username', 'Ada')
    await actions.waitForText(page, shown('{username} is available.', { username: 'ada' }))
    await actions.fillField(page, 'Password', ada.password)
    await actions.fillField(page, 'Confirm password', ada.password)
    await actions.click(page, 'Continue')
    await actions.fillField(page, 'Display name', 'Ada Lovelace')
    await page.getByLabel(shown('Avatar')).setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: onePixel })
    await actions.click(page, 'Use this image')
    await actions.click(page, 'Create account')
    await actions.waitForHomePage(page)

    await actions.waitForText(page, 'Ada Lovelace')
    expect(await page.locator('.profile .avatar img').getAttribute('src')).to.contain('/api/uploads/')
    await page.context().close()
  })

  it('counts the characters of a name as the server does, and says when there are too many', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, ada)
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'profile')
    await actions.click(page, 'Edit profile')
    await actions.fillField(page, 'Display name', '🦊'.repeat(33))
    await actions.waitForText(page, shown('Use at most {count} characters.', { count: 32 }))
    await actions.clickInDialog(page, 'Save')
    expect(await page.locator('[name=display-name]').getAttribute('aria-invalid')).to.equal('true')
    expect(await page.locator(':focus').getAttribute('name')).to.equal('display-name')

    await actions.fillField(page, 'Display name', '🦊'.repeat(32))
    await actions.clickInDialog(page, 'Save')

    await actions.waitForText(page, 'Profile saved.')
    await page.context().close()
  })

  it('saves what was changed of the profile, and takes nothing back that was changed elsewhere meanwhile', async () => {
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    const sockets: WebSocketRoute[] = []
    await page.routeWebSocket('**/ws', (socket) => {
      socket.connectToServer()
      sockets.push(socket)
    })
    await page.goto(`${instance.origin}/login`)
    await actions.logIn(page, ada)
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'profile')
    await actions.click(page, 'Edit profile')
    await actions.fillField(page, 'Status', 'Here')
    await page.evaluate(async () => {
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${localStorage.getItem('service_token')}`,
      }
      await fetch('/api/users/@me', { method: 'PATCH', headers, body: '{"bio":"Written on the phone"}' })
    })
    // A reconnect brings the profile as it is now.
    await sockets.at(-1)?.close({ code: 4000 })
    await page.locator('.profile__bio').getByText('Written on the phone').waitFor()

    await actions.clickInDialog(page, 'Save')
    await actions.waitForText(page, 'Profile saved.')

    await page.locator('.profile__presence').getByText('Here').waitFor()
    await page.reload()
    await page.locator('.profile__bio').getByText('Written on the phone').waitFor()
    await page.context().close()
  })

  it('shows at the field that the username is taken, before anything is submitted', async () => {
    const page = await actions.openPage(browser, instance, '/register')
    await actions.fillField(page, 'Username', 'ada')

    await actions.waitForText(page, /taken/i)

    expect(await page.getByLabel(shown('Username')).getAttribute('aria-invalid')).to.equal('true')
    await page.context().close()
  })

  it('is redirected from a protected page to the login page and back', async () => {
    const page = await actions.openPage(browser, instance, '/admin/invites')
    await page.waitForURL('**/login?redirect=*')
    await instance.runSql("update users set is_admin = true where username = 'ada'")
    await actions.logIn(page, { ...ada, password: 'not the password' })
    await actions.waitForText(page, 'Wrong username or password.')

    await actions.logIn(page, ada)

    await page.waitForURL('**/admin/invites')
    await page.context().close()
  })

  it('ignores a redirect to another host', async () => {
    const page = await actions.openPage(browser, instance, '/login?redirect=//evil.example/')

    await actions.logIn(page, ada)

    await actions.waitForHomePage(page)
    await page.context().close()
  })

  it('keeps the session of other tabs after a password change, and ends those of other browsers', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, ada)
    await actions.waitForHomePage(page)
    const otherTab = await page.context().newPage()
    await otherTab.goto(instance.origin)
    await actions.waitForHomePage(otherTab)
    const otherBrowser = await actions.openPage(browser, instance, '/login')
    await actions.logIn(otherBrowser, ada)
    await actions.waitForHomePage(otherBrowser)

    await actions.changePassword(page, ada.password, 'another password')

    expect(await actions.pathAfterReload(otherTab)).to.equal('/channels/@me')
    expect(await actions.pathAfterReload(otherBrowser)).to.equal('/login')
    ada.password = 'another password'
    await Promise.all([page.context().close(), otherBrowser.context().close()])
  })

  it('is deleted with its username and password, which makes the username available again', async () => {
    const grace = { username: 'grace', password: 'a long password' }
    const page = await actions.openPage(browser, instance, '/register')
    await actions.register(page, grace)
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Delete account')
    await actions.fillField(page, 'Your username', 'grace')
    await actions.fillField(page, 'Your password', 'not the password')
    await actions.clickInDialog(page, 'Delete permanently')
    await actions.waitForText(page, 'Wrong password.')

    await actions.fillField(page, 'Your password', grace.password)
    await actions.clickInDialog(page, 'Delete permanently')

    await page.waitForURL('**/login')
    await actions.waitForText(page, 'Your account has been deleted.')
    await page.goto(`${instance.origin}/register`)
    await actions.fillField(page, 'Username', 'grace')
    await actions.waitForText(page, shown('{username} is available.', { username: 'grace' }))
    await page.context().close()
  })

  it('shows a countdown after too many login attempts and disables the button', async () => {
    const address = newAddress()
    const page = await actions.openPage(browser, instance, { path: '/login', address })
    const attempts = Array.from({ length: 15 }, () => postJson(instance, '/api/auth/login', {}, undefined, address))
    await Promise.all(attempts)

    await actions.logIn(page, ada)

    const button = page.getByRole('button', { name: /Try again in \d:\d\d/ })
    await button.waitFor()
    expect(await button.getAttribute('aria-disabled')).to.equal('true')
    await page.context().close()
  })
})

const onePixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)
