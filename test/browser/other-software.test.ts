import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('what other software does to the pages', function () {
  this.timeout(120_000)
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })
  after(() => resources.disposeAsync())

  const openPage = (path: string, context = {}) => actions.openPage(browser, instance, { path, context })
  /** As password managers do that tell the page nothing. */
  const fillWithoutEvent = (page: Page, fields: Record<string, string>) =>
    page.evaluate((given) => {
      for (const [name, text] of Object.entries(given)) {
        document.querySelector<HTMLInputElement>(`input[name=${name}]`)!.value = text
      }
    }, fields)

  it('a password manager that fills in the login without an event logs in', async () => {
    await answered(postJson(instance, '/api/auth/register', { username: 'filled_in', password }))
    const page = await openPage('/login')
    await fillWithoutEvent(page, { username: 'filled_in', password: 'not the password' })
    await actions.click(page, 'Log in')
    await actions.waitForText(page, 'Wrong username or password.')

    await fillWithoutEvent(page, { password })
    await actions.click(page, 'Log in')

    await actions.waitForHomePage(page)
    await page.context().close()
  })

  it('a password manager that fills in the registration without an event registers, and what is missing is still said', async () => {
    const page = await openPage('/register')
    await actions.click(page, 'Continue')
    await actions.waitForText(page, 'Use 3 to 32 characters.')
    await fillWithoutEvent(page, { username: 'filled_anew', password })
    await actions.click(page, 'Continue')
    await page.locator('[name=confirmation]').and(page.locator('[aria-invalid=true]')).waitFor()

    await fillWithoutEvent(page, { confirmation: password })
    await actions.click(page, 'Continue')

    await page.getByRole('heading', { name: 'Your profile' }).waitFor()
    await page.context().close()
  })

  it('a phone finds no field that it has to zoom in on', async () => {
    const small = async (page: Page) =>
      await page.evaluate(
        () =>
          [...document.querySelectorAll('input, select, textarea')].filter(
            (field) => parseFloat(getComputedStyle(field).fontSize) < 16,
          ).length,
      )
    for (const path of ['/login', '/register']) {
      const phone = await openPage(path, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })
      const desk = await openPage(path)
      for (const page of [phone, desk]) await page.locator('[name=username]').waitFor()
      expect([await small(phone), (await small(desk)) > 0], path).to.deep.equal([0, true])
      await Promise.all([phone.context().close(), desk.context().close()])
    }
  })
})
