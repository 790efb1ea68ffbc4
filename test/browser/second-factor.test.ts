import { answered, appCode } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import sharp from 'sharp'
import { addAxe, findViolations } from './accessible.ts'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('a second factor in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = resources.use(await startInstance('factor'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })
  after(() => resources.disposeAsync())

  const dialog = (page: Page, name: string) => page.getByRole('dialog', { name: shownText(name) })

  const expectAccessible = async (page: Page) => expect(await findViolations(page)).to.deep.equal([])

  /** As an authenticator's camera would see it. */
  async function scan(code: Locator): Promise<string> {
    const { data, info } = await sharp(await code.screenshot({ scale: 'css' }))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true })
    return decodeQR({ width: info.width, height: info.height, data })
  }

  it('is turned on with an app, asked for at login, replaced by a recovery code, and turned off', async () => {
    await answered(postJson(instance, '/api/auth/register', { username: 'ivy', password }))
    const page = await actions.openPage(browser, instance, { path: '/login', prepare: addAxe })
    await actions.logIn(page, { username: 'ivy', password })
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'security')
    await page.getByRole('heading', { name: shown('Two-factor authentication') }).scrollIntoViewIfNeeded()
    await actions.click(page, 'Turn on two-factor')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Continue')
    await dialog(page, 'Set up your authenticator app')
      .getByRole('img', { name: shown('QR code for your authenticator app') })
      .waitFor()
    await expectAccessible(page)
    const secret = (await page.getByTestId('second-factor-key').innerText()).replaceAll(' ', '')
    expect(secret).to.match(/^[A-Z2-7]{32}$/)
    const scanned = new URL(await scan(dialog(page, 'Set up your authenticator app').getByRole('img')))
    expect([scanned.protocol, scanned.searchParams.get('secret')]).to.deep.equal(['otpauth:', secret])
    await actions.fillField(page, 'Authentication code', '000000')
    await actions.clickInDialog(page, 'Turn on')
    await actions.waitForText(page, 'Wrong code, or you’ve already used it.')
    await actions.fillField(page, 'Authentication code', appCode(secret, Date.now()))
    await actions.clickInDialog(page, 'Turn on')
    await dialog(page, 'Your recovery codes').waitFor()
    await expectAccessible(page)
    const codes = await page.getByTestId('recovery-codes').locator('code').allInnerTexts()
    expect(codes).to.have.length(10)
    const downloading = page.waitForEvent('download')
    await actions.clickInDialog(page, 'Download')
    const file = (await actions.readDownload(await downloading)).toString()
    for (const code of codes) expect(file).to.include(code)
    await actions.clickInDialog(page, 'I’ve saved them')
    await page.getByRole('button', { name: shown('Turn off two-factor') }).waitFor()

    await actions.logOut(page)
    await actions.logIn(page, { username: 'ivy', password })
    await actions.waitForText(page, 'Enter your authentication code to finish logging in.')
    expect(await page.evaluate(() => document.activeElement?.id)).to.equal('code')
    await expectAccessible(page)
    await actions.click(page, 'Back')
    await page.locator('#password:focus').waitFor()
    await actions.click(page, 'Log in')
    await page.locator('#code:focus').waitFor()
    await page.keyboard.type('000000')
    await page.keyboard.press('Enter')
    await actions.waitForText(page, 'Wrong code, or you’ve already used it.')
    await actions.fillField(page, 'Authentication code', codes[0] ?? '')
    await actions.click(page, 'Log in')
    await actions.waitForHomePage(page)

    await actions.openSettings(page, 'security')
    await actions.click(page, 'Turn off two-factor')
    await actions.fillField(page, 'Your password', password)
    await actions.fillField(page, 'Authentication code', codes[1] ?? '')
    await actions.clickInDialog(page, 'Turn off')
    await page.getByRole('button', { name: shown('Turn on two-factor') }).waitFor()
    await page.context().close()
  })

  /** Contract: 5, Second factors of others. */
  it('is removed by an admin, and demanded of admins', async () => {
    await registerWithFactor('max')
    // The first account is an admin.
    const page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, { username: 'ivy', password })
    await actions.waitForHomePage(page)
    await page.goto(`${instance.origin}/admin/users`)
    await actions.click(page, shown('Actions for {username}', { username: 'max' }))
    await page.getByRole('button', { name: shown('Turn off two-factor for {username}', { username: 'max' }) }).click()
    await dialog(page, shown('Turn off two-factor for {username}?', { username: 'max' })).waitFor()
    await actions.clickInDialog(page, 'Turn off two-factor')
    await actions.waitForText(page, shown('Two-factor is off for {username}.', { username: 'max' }))
    await page.goto(`${instance.origin}/admin/settings`)
    await page.getByRole('switch', { name: shown('Require two-factor authentication for admins') }).click()
    await actions.waitForText(page, 'Changes saved.')
    await actions.logOut(page)
    await actions.logIn(page, { username: 'ivy', password })
    await actions.waitForText(page, 'Turn it on to open the admin pages.')
    await page.goto(`${instance.origin}/admin/users`)
    await actions.waitForText(page, 'Turn it on to open the admin pages.')
    expect(await page.getByRole('link', { name: shown('Invites') }).count()).to.equal(0)
    await actions.click(page, 'Turn on two-factor')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Continue')
    const secret = (await page.getByTestId('second-factor-key').innerText()).replaceAll(' ', '')
    await actions.fillField(page, 'Authentication code', appCode(secret, Date.now()))
    await actions.clickInDialog(page, 'Turn on')
    await dialog(page, 'Your recovery codes').waitFor()
    await actions.clickInDialog(page, 'I’ve saved them')
    await actions.waitForText(page, '@max')
    await page.context().close()
  })

  /** Contract: 3, Second factor. */
  it('says that wrong codes were entered, on every page, until the person logs out', async () => {
    await registerWithFactor('nia')
    await using page = await actions.openPage(browser, instance, '/login')
    await actions.logIn(page, { username: 'nia', password })
    await page.locator('#code:focus').waitFor()
    const code = appCode(secrets.get('nia') ?? '', Date.now(), 1)
    await actions.fillField(page, 'Authentication code', code)
    await actions.click(page, 'Log in')
    await actions.waitForHomePage(page)
    const said = page.getByText('Someone entered your password and then ten wrong authentication codes')
    expect(await said.count()).to.equal(0)
    const statuses = new Set<number>()
    for (let wrong = 0; wrong < 10; wrong += 1) {
      const attempt = { username: 'nia', password, code: '000000' }
      const { status } = await postJson(instance, '/api/auth/login', attempt, undefined, `192.0.2.${wrong}`)
      statuses.add(status)
    }
    expect([...statuses]).to.deep.equal([401])
    await said.waitFor()

    await actions.follow(page, '/nowhere')
    await page.getByRole('heading', { name: shown('Page not found') }).waitFor()
    expect(await said.count()).to.equal(1)
    await page.goBack()
    await actions.waitForHomePage(page)
    expect(await said.count()).to.equal(1)
    await actions.logOut(page)
    await page.locator('#password').waitFor()
    expect(await said.count()).to.equal(0)
  })

  const secrets = new Map<string, string>()

  async function registerWithFactor(username: string): Promise<void> {
    const registered = await answered(postJson(instance, '/api/auth/register', { username, password }))
    const body = (await registered.json()) as { token: string }
    const path = '/api/users/@me/second-factor'
    const begun = (await (await answered(postJson(instance, path, { password }, body.token))).json()) as {
      secret: string
    }
    secrets.set(username, begun.secret)
    await answered(postJson(instance, `${path}/confirm`, { code: appCode(begun.secret, Date.now()) }, body.token))
  }
})
