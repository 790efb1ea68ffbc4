import { answered, eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import * as actions from './actions.ts'
import { shown, shownText } from './shown.ts'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'

const password = 'a long password'

describe('the settings of an account in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })

  after(() => resources.disposeAsync())

  it('have parts at addresses of their own, over a reload and the way back', async () => {
    const reply = await answered(postJson(instance, '/api/auth/register', { username: 'barbara', password }))
    const { token } = (await reply.json()) as { token: string }
    const page = await actions.openPage(browser, instance, { path: '/channels/@me', token })
    await actions.waitForHomePage(page)
    await actions.click(page, 'Your account')
    await page.getByRole('link', { name: shown('Password and security') }).click()
    await page.getByRole('heading', { name: shown('Two-factor authentication') }).waitFor()
    const parts = page.getByRole('navigation', { name: shown('Settings') })
    for (const [part, name, shown] of [
      ['sessions', 'Sessions', 'Login history'],
      ['data', 'Your data', 'Download your data'],
      ['leave', 'Delete account', 'Delete your account'],
    ] as const) {
      await parts.getByRole('link', { name: shownText(name) }).click()
      await actions.waitForText(page, shown)
      expect(new URL(page.url()).pathname).to.equal(`/settings/${part}`)
      await page.reload()
      await actions.waitForText(page, shown)
      expect(await parts.locator('[aria-current=page]').allTextContents()).to.deep.equal([name])
    }

    await page.goBack()

    await page.getByRole('button', { name: shown('Download') }).waitFor()
    await eventually('its title', async () => (await page.title()) === 'Your data · Gatehouse')
    await page.goto(`${instance.origin}/settings/nothing`)
    await page.getByRole('heading', { name: shown('Page not found') }).waitFor()
    await page.context().close()
  })
})
