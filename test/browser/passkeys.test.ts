import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { addAxe, findViolations } from './accessible.ts'
import { shown } from './shown.ts'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

/** Contract: 3, Passkeys. */
describe('passkeys in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })
  after(() => resources.disposeAsync())

  /** A device that asks nobody, as Chromium simulates it. */
  async function addDevice(page: Page) {
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    const options = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true } as const
    const device = { protocol: 'ctap2', transport: 'internal', automaticPresenceSimulation: true, ...options } as const
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', { options: device })
    return {
      setPresent: (enabled: boolean) =>
        devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
      verify: (isUserVerified: boolean) =>
        devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    }
  }

  const expectAccessible = async (page: Page) => expect(await findViolations(page)).to.deep.equal([])

  async function shoot(page: Page, name: string): Promise<void> {
    const folder = process.env['SHOTS']
    if (!folder) return
    for (const [form, width, colorScheme] of [
      ['light', 1280, 'light'],
      ['dark', 1280, 'dark'],
      ['phone', 390, 'light'],
    ] as const) {
      await page.setViewportSize({ width, height: 860 })
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${folder}/${name}-${form}.png`, fullPage: true })
    }
    await page.setViewportSize({ width: 1280, height: 720 })
    await page.emulateMedia({ colorScheme: 'light' })
  }

  async function openHome(username: string): Promise<Page> {
    const reply = await answered(postJson(instance, '/api/auth/register', { username, password }))
    const { token } = (await reply.json()) as { token: string }
    const page = await actions.openPage(browser, instance, { path: '/channels/@me', token, prepare: addAxe })
    await actions.waitForHomePage(page)
    return page
  }

  /** The offer of the username field would sign in before the button is clicked. */
  async function takeAwayOffers(page: Page): Promise<void> {
    const takeAway = () => {
      PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)
    }
    await page.addInitScript(takeAway)
    await page.evaluate(takeAway)
  }

  it('are added, open the account without a username in both languages, and are removed', async () => {
    const page = await openHome('ivy')
    await takeAwayOffers(page)
    const device = await addDevice(page)
    await actions.openSettings(page, 'security')
    await page.getByRole('heading', { name: shown('Passkeys') }).scrollIntoViewIfNeeded()
    await actions.waitForText(page, 'No passkeys yet.')
    await shoot(page, 'none')
    await actions.openSettings(page, 'security')
    await actions.click(page, 'Add a passkey')
    await actions.fillField(page, 'Name', '')
    await actions.clickInDialog(page, 'Continue')
    await actions.waitForText(page, 'Enter your password.')
    await actions.fillField(page, 'Your password', password)
    await actions.fillField(page, 'Name', 'Laptop')
    await shoot(page, 'add')
    await expectAccessible(page)
    await actions.clickInDialog(page, 'Continue')
    await actions.waitForText(page, /^Added on .*, not used yet$/)
    await shoot(page, 'one')
    await expectAccessible(page)
    await actions.openSettings(page, 'security')
    await actions.click(page, 'Add a passkey')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Continue')
    await actions.waitForText(page, 'This device already has a passkey for your account.')
    await shoot(page, 'twice')
    await actions.clickInDialog(page, 'Cancel')
    await actions.click(page, 'Discard')

    await actions.logOut(page)
    await page.getByRole('button', { name: shown('Log in with a passkey') }).waitFor()
    await shoot(page, 'log-in')
    await expectAccessible(page)
    await device.verify(false)
    await actions.click(page, 'Log in with a passkey')
    await actions.waitForText(page, 'The passkey request was canceled or didn’t work. Try again.')
    await device.verify(true)
    await actions.click(page, 'Log in with a passkey')
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'security')
    await actions.waitForText(page, /^Added on .*, last used on /)

    await actions.logOut(page)
    await page.evaluate(() => localStorage.setItem('gatehouse_language', 'de'))
    await page.goto(`${instance.origin}/login`)
    await page.getByRole('button', { name: 'Mit Passkey anmelden' }).waitFor()
    await shoot(page, 'log-in-german')
    await actions.click(page, 'Mit Passkey anmelden')
    await page.waitForURL('**/channels/@me')
    await actions.openSettings(page, 'security')
    await actions.waitForText(page, /^Hinzugefügt am .*, zuletzt benutzt am /)
    await shoot(page, 'one-german')
    await page.evaluate(() => localStorage.setItem('gatehouse_language', 'en'))
    await page.reload()

    await actions.openSettings(page, 'security')
    await actions.click(page, shown('Remove passkey {name}', { name: 'Laptop' }))
    await shoot(page, 'remove')
    await expectAccessible(page)
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Remove')
    await actions.waitForText(page, 'No passkeys yet.')
    await actions.logOut(page)
    await page.getByRole('button', { name: shown('Log in with a passkey') }).waitFor()
    await actions.click(page, 'Log in with a passkey')
    await actions.waitForText(page, 'This passkey doesn’t work here. It may have been removed.')
    await shoot(page, 'refused')
    await page.context().close()
  })

  it('are offered by the username field, and one that opens no account is told of', async () => {
    const page = await openHome('uma')
    const device = await addDevice(page)
    await actions.openSettings(page, 'security')
    await actions.click(page, 'Add a passkey')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Continue')
    await actions.waitForText(page, /^Added on .*, not used yet$/)
    // Chromium chooses for a device that is present.
    await actions.logOut(page)
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'security')
    await actions.waitForText(page, /^Added on .*, last used on /)

    await device.setPresent(false)
    await actions.logOut(page)
    await page.getByRole('button', { name: shown('Log in with a passkey') }).waitFor()
    expect(await page.locator('#username').getAttribute('autocomplete')).to.equal('username webauthn')
    await actions.logIn(page, { username: 'uma', password })
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'security')
    await actions.click(page, /^Remove passkey/)
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Remove')
    await actions.waitForText(page, 'No passkeys yet.')
    await device.setPresent(true)
    await actions.logOut(page)
    await actions.waitForText(page, 'This passkey doesn’t work here. It may have been removed.')
    await page.context().close()
  })

  it('work through a password manager whose credentials only look like those of the browser', async () => {
    const page = await openHome('lena')
    await takeAwayOffers(page)
    const imitate = () => {
      const imitated = (credential: Credential | null) => {
        const { id, rawId, type, response } = credential as PublicKeyCredential
        const fields = { id, rawId, type, response, authenticatorAttachment: 'platform' }
        const methods = { getClientExtensionResults: () => ({}) }
        const values = Object.entries({ ...fields, ...methods }).map(([name, value]) => [name, { value }] as const)
        return Object.create(PublicKeyCredential.prototype, Object.fromEntries(values)) as Credential
      }
      const { credentials } = navigator
      const [create, get] = [credentials.create.bind(credentials), credentials.get.bind(credentials)]
      credentials.create = async (options) => imitated(await create(options))
      credentials.get = async (options) => imitated(await get(options))
    }
    await page.addInitScript(imitate)
    await addDevice(page)
    await page.reload()
    await actions.openSettings(page, 'security')
    await actions.click(page, 'Add a passkey')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Continue')
    await actions.waitForText(page, /^Added on .*, not used yet$/)
    await actions.logOut(page)
    await actions.click(page, 'Log in with a passkey')
    await actions.waitForHomePage(page)
    await page.context().close()
  })

  it('say where they work when the page is opened at another address', async () => {
    const page = await actions.openPage(browser, instance, { path: '/login' })
    await takeAwayOffers(page)
    const { hostname, port } = new URL(instance.origin)
    const other = hostname === 'localhost' ? '127.0.0.1' : 'localhost'
    await page.goto(`http://${other}:${port}/login`)
    await actions.click(page, 'Log in with a passkey')
    await actions.waitForText(page, shown('Passkeys for this instance work only at {host}.', { host: hostname }))
    await page.context().close()
  })

  it('are listed on another page of the account as soon as they come and go', async () => {
    const page = await openHome('max')
    await addDevice(page)
    const other = await page.context().newPage()
    await other.goto(`${instance.origin}/settings/security`)
    await actions.waitForText(other, 'No passkeys yet.')
    await other.getByRole('contentinfo').getByText(shown('Connected'), { exact: true }).waitFor()
    await page.bringToFront()
    await actions.openSettings(page, 'security')
    await actions.click(page, 'Add a passkey')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Continue')
    await actions.waitForText(other, /^Added on .*, not used yet$/)
    await actions.waitForText(other, 'Passkey added.')
    await actions.openSettings(page, 'security')
    await actions.click(page, /^Remove passkey/)
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Remove')
    await actions.waitForText(other, 'No passkeys yet.')
    await page.context().close()
  })
})
