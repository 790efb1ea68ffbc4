import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { addAxe } from './accessible.ts'
import { accountPages, findFaultsOf, publicPages } from './accessible-pages.ts'
import * as actions from './actions.ts'
import { password, startFilledInstance, type FilledInstance } from './filled-instance.ts'
import { shown } from './shown.ts'

const admin = { username: 'alice', password }
/** accessibility.system.test.ts has all. */
const firstAccountPages = accountPages.slice(0, 2)

describe('accessibility of every page', () => {
  const resources = new AsyncDisposableStack()
  let instance: FilledInstance
  let browser: Browser

  before(async () => {
    instance = resources.use(await startFilledInstance('accessibility'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })

  after(() => resources.disposeAsync())

  it('has no axe violation, no unclear name and no horizontal overflow, light at 1280 px and dark at 320 px', async () => {
    const faults: string[] = []
    const page = await openPage()
    await addAxe(page.context())
    for (const target of publicPages) faults.push(...(await findFaultsOf(page, instance.origin, target)))
    await page.addInitScript((storedToken) => localStorage.setItem('service_token', storedToken), instance.token)
    for (const target of firstAccountPages) faults.push(...(await findFaultsOf(page, instance.origin, target)))

    expect(faults).to.deep.equal([])
    await page.context().close()
  })

  it('keeps the chosen theme over a reload', async () => {
    const page = await openPage()
    await page.goto(`${instance.origin}/login`)
    await actions.click(page, 'Switch to dark theme')

    await page.reload()

    await page.getByRole('button', { name: shown('Switch to light theme') }).waitFor()
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).to.equal('dark')
    await page.context().close()
  })

  it('speaks the language that the browser asks for, and keeps another choice', async () => {
    const context = await browser.newContext({ locale: 'de-AT', reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(`${instance.origin}/login`)
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).to.equal('de')
    await page.getByLabel('Benutzername').fill(admin.username)
    await page.getByLabel('Passwort', { exact: true }).fill(admin.password)
    await page.getByRole('button', { name: 'Anmelden', exact: true }).click()
    await actions.waitForText(page, 'Verbundene Instanzen')
    expect(await page.title()).to.equal('Start · Gatehouse')
    await page.goto(`${instance.origin}/admin/federation`)
    await page.getByLabel('Adresse der Instanz').fill(instance.origin)
    await page.getByRole('button', { name: 'Anfrage senden' }).click()
    await actions.waitForText(page, 'Das ist diese Instanz.')
    await page.goto(instance.origin)

    await page.getByLabel('Sprache').selectOption('en')
    await actions.waitForText(page, 'Connected instances')
    await page.reload()

    await actions.waitForText(page, 'Connected instances')
    await context.close()
  })

  it('is usable with the keyboard alone', async () => {
    const page = await openPage()
    await page.goto(`${instance.origin}/login`)
    await page.getByLabel(shown('Username')).focus()
    await page.keyboard.type(admin.username)
    await page.keyboard.press('Tab')
    await page.keyboard.type(admin.password)
    await page.keyboard.press('Enter')
    await actions.waitForHomePage(page)

    const opener = page.getByRole('button', { name: shown('Edit profile') })
    await opener.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')

    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await opener.evaluate((button) => button === document.activeElement)).to.equal(true)
    await page.context().close()
  })

  async function openPage(): Promise<Page> {
    const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' })
    return context.newPage()
  }
})
