import { answered, eventually, startSmtpServer, type TestSmtpServer } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'

describe('mail in the browser', () => {
  const resources = new AsyncDisposableStack()
  let smtp: TestSmtpServer
  let instance: Instance
  let browser: Browser

  before(async () => {
    smtp = resources.use(await startSmtpServer())
    instance = resources.use(await startInstance('mail', { smtpUrl: `smtp://127.0.0.1:${smtp.port}` }))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    await register('first')
  })
  after(() => resources.disposeAsync())

  async function register(username: string): Promise<string> {
    const registered = await answered(postJson(instance, '/api/auth/register', { username, password }))
    return ((await registered.json()) as { token: string }).token
  }

  /** The link of the mail that came to `address` after as many others. */
  async function linkOf(address: string, path: string, before = 0): Promise<string> {
    const links = () => {
      const texts = smtp.mails.filter(({ to }) => to === address).map(({ text }) => text)
      return texts.flatMap((text) => text.match(/http:\S+/g) ?? []).filter((url) => url.includes(`${path}#`))
    }
    await eventually(`a mail with ${path} comes to ${address}`, () => links().length > before)
    return links()[before] ?? ''
  }

  async function openSecurity(token: string, locale = 'en'): Promise<Page> {
    const options = { path: '/settings/security', token, prepare: addAxe, context: { locale } }
    return await actions.openPage(browser, instance, options)
  }

  async function addAddress(page: Page, address: string): Promise<void> {
    await actions.click(page, 'Add an email address')
    await actions.fillField(page, 'Email address', address)
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Send link')
    await actions.waitForText(page, 'not confirmed')
  }

  it('confirms an address by a press of a button alone, and brings back who forgot the password', async () => {
    const address = 'ada@mail.example'
    const token = await register('ada')
    await using page = await actions.openPage(browser, instance, { token, prepare: addAxe })
    await actions.waitForText(page, 'Add an email address')
    await page.getByRole('link', { name: shown('Add'), exact: true }).click()
    await actions.click(page, 'Add an email address')
    await actions.fillField(page, 'Email address', 'no address')
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Send link')
    await actions.waitForText(page, 'Enter an email address, such as alice@mail.example.')
    await actions.fillField(page, 'Email address', 'ada@mail')
    await actions.clickInDialog(page, 'Send link')
    await page.locator('#email[aria-invalid=true]').waitFor()
    await actions.fillField(page, 'Email address', address)
    await actions.clickInDialog(page, 'Send link')
    await actions.waitForText(page, 'not confirmed')

    // On another device, twice: first by a program that looks at each link.
    const link = await linkOf(address, '/confirm-email')
    await using scanner = await actions.openPage(browser, instance, '/login')
    await scanner.goto(link)
    await actions.waitForText(scanner, 'Confirm your email address')
    await using other = await actions.openPage(browser, instance, { path: '/login', prepare: addAxe })
    await other.goto(link)
    await actions.click(other, 'Confirm')
    await actions.waitForText(other, 'Email address confirmed')
    expect(await findFaults(other)).to.deep.equal([])
    await actions.click(scanner, 'Confirm')
    await actions.waitForText(scanner, /^This link was already used/)

    await page.reload()
    await page.getByText(shown('confirmed'), { exact: true }).waitFor()
    expect(await findFaults(page)).to.deep.equal([])

    await scanner.goto(`${instance.origin}/login`)
    await scanner.getByRole('link', { name: shown('Forgot your password?') }).click()
    await actions.fillField(scanner, 'Username or email address', 'nobody@mail.example')
    await actions.click(scanner, 'Send link')
    await actions.waitForText(scanner, 'Check your email')
    await scanner.getByRole('link', { name: shown('Try another name') }).click()
    await actions.fillField(scanner, 'Username or email address', address)
    await actions.click(scanner, 'Send link')
    await actions.waitForText(scanner, 'Check your email')

    await other.goto(await linkOf(address, '/recover'))
    await actions.fillField(other, 'New password', 'another long password')
    await actions.fillField(other, 'Confirm new password', 'another long password')
    await actions.click(other, 'Change password')
    await actions.waitForHomePage(other)
    await page.locator('#password').waitFor()
    expect(smtp.mails.filter(({ to }) => to !== address)).to.deep.equal([])
  })

  it('sends the link again, in the language of the page, changes the address and removes it', async () => {
    await using page = await openSecurity(await register('bea'), 'de')
    const say = (name: string) => page.getByRole('button', { name, exact: true })
    await say('E-Mail-Adresse hinzufügen').click()
    await page.locator('#email').fill('bea@mail.example')
    await page.locator('#email-password').fill(password)
    await say('Link senden').click()
    const first = await linkOf('bea@mail.example', '/confirm-email')
    expect(smtp.mails.find(({ to }) => to === 'bea@mail.example')?.text).to.include('Das Konto bea')
    await say('Erneut senden').click()
    await page.locator('#send-link-password').fill(password)
    await say('Link senden').click()
    const second = await linkOf('bea@mail.example', '/confirm-email', 1)

    await using other = await actions.openPage(browser, instance, '/login')
    await other.goto(first)
    await actions.click(other, 'Confirm')
    await actions.waitForText(other, /^This link was already used/)
    await other.goto('about:blank')
    await other.goto(second)
    await actions.click(other, 'Confirm')
    await actions.waitForText(other, 'Email address confirmed')

    await page.reload()
    const notices = page.getByRole('switch')
    await notices.click()
    await page.locator('[role=switch][aria-checked=false]').waitFor()
    await page.reload()
    await page.locator('[role=switch][aria-checked=false]').waitFor()
    await say('E-Mail-Adresse ändern').click()
    await page.locator('#email').fill('bea@other.example')
    await page.locator('#email-password').fill(password)
    await say('Link senden').click()
    await page.getByText('bea@other.example').first().waitFor()
    await page.getByText('nicht bestätigt').waitFor()
    await linkOf('bea@other.example', '/confirm-email')
    await say('E-Mail-Adresse entfernen').click()
    await page.locator('#email-removal-password').fill(password)
    await say('Entfernen').last().click()
    await say('E-Mail-Adresse hinzufügen').waitFor()
  })

  it('tells at the address, and an admin, that a mail was rejected', async () => {
    smtp.behaviour.refuse = (to) => (to.startsWith('gone') ? [550, '5.1.1 no such user'] : undefined)
    await using page = await openSecurity(await register('cleo'))
    await addAddress(page, 'gone@mail.example')
    await eventually('the address is marked', async () => {
      await page.reload()
      await page.getByRole('button', { name: shown('Remove email address') }).waitFor()
      return (await page.getByText(shown('mail rejected')).count()) > 0
    })
    const adminToken = await tokenOf('first')
    await using admin = await actions.openPage(browser, instance, { path: '/admin/users', token: adminToken })
    await admin.getByRole('link', { name: '@cleo' }).click()
    await actions.waitForText(admin, 'gone@mail.example')
    await actions.waitForText(admin, 'mail rejected')
  })

  it('offers none of it while the instance sends none', async () => {
    await using quiet = await startInstance('quiet')
    await using page = await actions.openPage(browser, quiet, '/login')
    await actions.waitForText(page, 'Forgot your password? Ask an admin of this instance for a reset link.')
    await page.goto(`${quiet.origin}/forgot`)
    await actions.fillField(page, 'Username or email address', 'ada')
    await actions.click(page, 'Send link')
    await actions.waitForText(page, /^This instance doesn’t send mail/)
    const registered = await answered(postJson(quiet, '/api/auth/register', { username: 'dora', password }))
    const { token } = (await registered.json()) as { token: string }
    await using own = await actions.openPage(browser, quiet, { path: '/settings/security', token })
    await actions.waitForText(own, 'Turn on two-factor')
    expect(await own.getByText(shown('Email address')).count()).to.equal(0)
  })

  async function tokenOf(username: string): Promise<string> {
    const loggedIn = await answered(postJson(instance, '/api/auth/login', { username, password }))
    return ((await loggedIn.json()) as { token: string }).token
  }
})
