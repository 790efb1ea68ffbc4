import { eventually, launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { ask, startInstance, type Instance } from './instance.ts'
import * as steps from './steps.ts'

const ada = { username: 'ada', password: 'a long password' }

describe('an account in the browser', function () {
  this.timeout(120_000)
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await startInstance('accounts')
    browser = await launchChromium()
  })

  after(async () => {
    await browser?.close()
    await instance?.[Symbol.asyncDispose]()
  })

  it('is registered in two steps, with a picture, and brings its person home', async () => {
    const page = await steps.openTab(browser, instance, '/register')
    await steps.fill(page, 'Username', 'Ada')
    await steps.see(page, 'ada is free.')
    await steps.fill(page, 'Password', ada.password)
    await steps.fill(page, 'Password again', ada.password)
    await steps.press(page, 'Continue')
    await steps.fill(page, 'Display name', 'Ada Lovelace')
    await page.getByLabel('Avatar picture').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: onePixel })
    await steps.press(page, 'Use this picture')
    await steps.press(page, 'Create account')
    await steps.arriveHome(page)

    await steps.see(page, 'Ada Lovelace')
    expect(await page.locator('.profile .avatar img').getAttribute('src')).to.contain('/api/uploads/')
    await page.context().close()
  })

  it('is told at the field when its name is taken, before anything is sent', async () => {
    const page = await steps.openTab(browser, instance, '/register')
    await steps.fill(page, 'Username', 'ada')

    await steps.see(page, /taken/i)

    expect(await page.getByLabel('Username').getAttribute('aria-invalid')).to.equal('true')
    await page.context().close()
  })

  it('is asked for when a protected page is opened, and led there after the log-in', async () => {
    const page = await steps.openTab(browser, instance, '/admin/invites')
    await page.waitForURL('**/login?redirect=*')
    await steps.logIn(page, { ...ada, password: 'not the password' })
    await steps.see(page, 'Invalid username or password')

    await steps.logIn(page, ada)

    await page.waitForURL('**/admin/invites')
    await page.context().close()
  })

  it('never follows a redirect to another place', async () => {
    const page = await steps.openTab(browser, instance, '/login?redirect=//evil.example/')

    await steps.logIn(page, ada)

    await steps.arriveHome(page)
    await page.context().close()
  })

  it('changes its password in one tab, goes on in the other, and ends elsewhere', async () => {
    const page = await steps.openTab(browser, instance, '/login')
    await steps.logIn(page, ada)
    await steps.arriveHome(page)
    const sibling = await page.context().newPage()
    await sibling.goto(instance.origin)
    await steps.arriveHome(sibling)
    const elsewhere = await steps.openTab(browser, instance, '/login')
    await steps.logIn(elsewhere, ada)
    await steps.arriveHome(elsewhere)
    await secondAfter(Date.now())

    await steps.changePassword(page, ada.password, 'another password')

    expect(await steps.pathAfterReload(sibling)).to.equal('/channels/@me')
    expect(await steps.pathAfterReload(elsewhere)).to.equal('/login')
    ada.password = 'another password'
    await Promise.all([page.context().close(), elsewhere.context().close()])
  })

  it('is deleted with its name and password, and its name is free again', async () => {
    const grace = { username: 'grace', password: 'a long password' }
    const page = await steps.openTab(browser, instance, '/register')
    await steps.register(page, grace)
    await steps.press(page, 'Delete account')
    await steps.fill(page, 'Your username', 'grace')
    await steps.fill(page, 'Your password', 'not the password')
    await steps.confirm(page, 'Delete for good')
    await steps.see(page, 'Incorrect password')

    await steps.fill(page, 'Your password', grace.password)
    await steps.confirm(page, 'Delete for good')

    await page.waitForURL('**/login')
    await steps.see(page, 'Your account was deleted.')
    await page.goto(`${instance.origin}/register`)
    await steps.fill(page, 'Username', 'grace')
    await steps.see(page, 'grace is free.')
    await page.context().close()
  })

  it('counts down where too many log-ins were tried, and keeps the button from another', async () => {
    const page = await steps.openTab(browser, instance, '/login')
    const attempts = Array.from({ length: 15 }, () => ask(instance, '/api/auth/login', {}))
    await Promise.all(attempts)

    await steps.logIn(page, ada)

    const button = page.getByRole('button', { name: /Try again in \d:\d\d/ })
    await button.waitFor()
    expect(await button.getAttribute('aria-disabled')).to.equal('true')
    await page.context().close()
  })
})

/** Tokens know seconds only: one that was made in the second of the change outlives it. Spec: Bearer tokens. */
function secondAfter(moment: number): Promise<unknown> {
  const next = (Math.floor(moment / 1000) + 1) * 1000
  return eventually('the next second', () => Date.now() >= next)
}

const onePixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)
