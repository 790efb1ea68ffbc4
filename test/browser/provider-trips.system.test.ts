import { answered, startIdentityProvider } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'
const uni = { provider: 'Uni' }

describe('a trip to an identity provider in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let issuer: string
  let adminToken: string

  before(async () => {
    const provider = resources.use(await startIdentityProvider({ accounts: [{ sub: 'ada', name: 'Ada L.' }] }))
    const { clientId, clientSecret } = provider
    issuer = provider.issuer
    const icon = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`
    const providers = [{ id: 'uni', name: 'Uni', issuer, clientId, clientSecret, icon }]
    instance = resources.use(await startInstance('trips', { providers, smtpUrl: 'smtp://127.0.0.1:9' }))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    adminToken = (await registerUser('first')).token
  })
  after(() => resources.disposeAsync())

  async function registerUser(username: string): Promise<{ token: string; user: { id: string } }> {
    const registered = await answered(postJson(instance, '/api/auth/register', { username, password }))
    return (await registered.json()) as { token: string; user: { id: string } }
  }

  const openPage = (token: string, path: string): Promise<Page> =>
    actions.openPage(browser, instance, { path, token, prepare: addAxe })

  /** Opens the settings of an account that `subject` of the provider logs in to, without a password. */
  async function openWithoutPassword(username: string, part: string, subject = username): Promise<Page> {
    const { token } = await registerUser(username)
    await instance.runSql("update users set has_password = false, password_hash = '!' where username = ?", [username])
    await instance.runSql(
      `insert into linked_identities (id, user_id, provider, issuer, subject, linked_at)
       select next_snowflake(), id, 'uni', ?, ?, now() from users where username = ?`,
      [issuer, subject, username],
    )
    return await openPage(token, `/settings/${part}`)
  }

  async function answerAtProvider(page: Page, subject: string | null): Promise<void> {
    await page.waitForURL((url) => url.origin === issuer)
    if (subject !== null) await page.getByLabel('Account').fill(subject)
    await page.getByRole('button', { name: subject === null ? 'Cancel' : 'Continue' }).click()
    await page.waitForURL((url) => url.pathname.startsWith('/settings/'))
  }
  const confirmWithUni = (page: Page) => actions.click(page, shown('Confirm with {provider}', uni))
  const dialog = (page: Page, name: string) => page.getByRole('dialog', { name: shownText(name) })

  /** Contract: 3, Mail. */
  it('confirms an email address, which waits in its dialog', async () => {
    await using page = await openWithoutPassword('eve', 'security')
    await actions.click(page, 'Add an email address')
    await actions.fillField(page, 'Email address', 'eve@mail.example')

    await actions.clickInDialog(page, shown('Confirm with {provider}', uni))
    await answerAtProvider(page, 'eve')

    await dialog(page, 'Add an email address').waitFor()
    await actions.clickInDialog(page, 'Send link')
    await actions.waitForText(page, shown('We’ve sent a link to {address}.', { address: 'eve@mail.example' }))
    await actions.waitForText(page, 'not confirmed')
  })

  it('confirms for who has no password, in the dialog that asked', async () => {
    const page = await openWithoutPassword('bea', 'data')
    await actions.click(page, 'Download')
    await actions.waitForText(page, shown('Confirm with {provider}', uni))
    expect(await page.getByLabel(shown('Your password')).count()).to.equal(0)
    expect(await findFaults(page)).to.deep.equal([])
    await actions.clickInDialog(page, 'Download') // asks first
    expect(await dialog(page, 'Download your data').count()).to.equal(1)

    await confirmWithUni(page)
    await answerAtProvider(page, 'bea')

    await dialog(page, 'Download your data').waitFor()
    await actions.waitForText(page, shown('Confirmed with {provider}.', uni))
    expect(page.url()).to.equal(`${instance.origin}/settings/data`)
    expect(await findFaults(page)).to.deep.equal([])
    const download = page.waitForEvent('download')
    await actions.clickInDialog(page, 'Download')
    expect((await download).suggestedFilename()).to.equal('bea.zip')
  })

  it('keeps what was typed, says what went wrong, and takes no other account', async () => {
    const page = await openWithoutPassword('cleo', 'leave')
    await actions.click(page, 'Delete account')
    await actions.fillField(page, 'Your username', 'cleo')
    await confirmWithUni(page)
    await answerAtProvider(page, null)

    await actions.waitForText(page, shown('You canceled at {provider}.', uni))
    expect(await page.getByLabel(shown('Your username')).inputValue()).to.equal('cleo')

    await confirmWithUni(page)
    await answerAtProvider(page, 'somebody else')
    await actions.waitForText(page, shown('Confirmed with {provider}.', uni))
    await actions.clickInDialog(page, 'Delete permanently')
    await actions.waitForText(page, 'Log in at the identity provider again to confirm that it’s you.')

    await confirmWithUni(page)
    await answerAtProvider(page, 'cleo')
    await actions.waitForText(page, shown('Confirmed with {provider}.', uni))
    await actions.clickInDialog(page, 'Delete permanently')
    await page.waitForURL((url) => url.pathname === '/login')
  })

  it('links an identity with the password, shows it to admins, and removes it', async () => {
    const { token, user } = await registerUser('dora')
    const page = await openPage(token, '/settings/security')
    const elsewhere = await openPage(token, '/settings/security')
    await actions.waitForText(elsewhere, 'No identity provider linked yet.')
    await actions.click(page, shown('Link {provider}', uni))
    await answerAtProvider(page, 'ada')
    await actions.fillField(page, 'Your password', password)
    expect(await findFaults(page)).to.deep.equal([])
    await actions.clickInDialog(page, 'Link')

    await actions.waitForText(page, 'Identity provider linked.')
    for (const each of [page, elsewhere]) await actions.waitForText(each, /^Ada L\. · /)
    await actions.waitForText(elsewhere, 'Identity provider linked.')
    expect(await page.locator('.provider-icon').count()).to.equal(2)
    const admin = await openPage(adminToken, `/admin/users/${user.id}`)
    await actions.waitForText(admin, /^Ada L\. · /)
    expect(await findFaults(admin)).to.deep.equal([])

    await actions.click(page, shown('Remove {provider}', uni))
    await actions.fillField(page, 'Your password', password)
    await actions.clickInDialog(page, 'Remove')
    await actions.waitForText(page, 'Identity provider removed.')
    await actions.waitForText(page, 'No identity provider linked yet.')
  })

  it('links another identity without a password, by a trip to the first', async () => {
    const page = await openWithoutPassword('fay', 'security')
    await actions.click(page, shown('Link {provider}', uni))
    await answerAtProvider(page, 'fay at work')
    await dialog(page, shown('Link {provider}', uni))
      .getByRole('button', { name: shown('Confirm with {provider}', uni) })
      .click()
    await answerAtProvider(page, 'fay')
    await actions.clickInDialog(page, 'Link')

    await actions.waitForText(page, 'Identity provider linked.')
  })

  it('nothing in the settings speaks of a password that the person has not', async () => {
    const { token } = await registerUser('gus')
    const pages = [await openPage(token, '/settings/sessions'), await openWithoutPassword('gil', 'sessions')]
    const found = pages.map(() => new Set<string>())
    for (const [index, page] of pages.entries()) {
      for (const part of ['profile', 'security', 'sessions', 'instances', 'data', 'leave']) {
        await page.goto(`${instance.origin}/settings/${part}`)
        await page.locator('main h2').first().waitFor()
        await page.locator('.skeleton').first().waitFor({ state: 'detached' })
        const text = await page.locator('main').innerText()
        for (const [sentence] of text.matchAll(/[^.\n]*your password[^.\n]*/gi)) found[index]?.add(sentence)
      }
    }

    expect([...found[0]!]).to.have.length.at.least(4)
    expect([...found[1]!]).to.deep.equal([])
  })

  it('sets the first password', async () => {
    const page = await openWithoutPassword('eva', 'security')
    await actions.waitForText(page, 'Set a password before you remove it.')
    await confirmWithUni(page)
    await answerAtProvider(page, 'eva')
    await actions.fillField(page, 'New password', password)
    await actions.fillField(page, 'Confirm new password', password)
    await actions.click(page, 'Set a password')

    await actions.waitForText(page, 'Password set. You’re logged out everywhere else.')
    await page.getByRole('textbox', { name: shown('Current password') }).waitFor()
    await answered(postJson(instance, '/api/auth/login', { username: 'eva', password }))
  })
})
