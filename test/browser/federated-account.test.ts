import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown } from './shown.ts'
import { postJson, startPair, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('a federated account in the browser', () => {
  const resources = new AsyncDisposableStack()
  let home: Instance
  let remote: Instance
  let browser: Browser
  let page: Page
  let username: string

  before(async () => {
    ;[home, remote] = await startPair(resources, ['home', 'remote'])
    await answered(postJson(remote, '/api/auth/register', { username: 'admin', password }))
    const registered = await postJson(home, '/api/auth/register', { username: 'rosa', password })
    const { user } = (await registered.json()) as { user: { id: string } }
    const homeInstance = home.host
    username = `rosa@${homeInstance}`
    const identity = { username, password, homeInstance, homeUserId: user.id }
    expect((await postJson(remote, '/api/auth/register', identity)).status).to.equal(201)
    browser = await launchChromium()
    resources.defer(() => browser.close())
    page = await loggedIn()
  })

  after(() => resources.disposeAsync())

  const loggedIn = async (): Promise<Page> => {
    const opened = await actions.openPage(browser, remote, '/login')
    await actions.logIn(opened, { username, password })
    await actions.waitForHomePage(opened)
    return opened
  }

  it('names the home instance for what is managed there', async () => {
    await actions.waitForText(page, 'This account belongs to home.localhost')
    expect(await page.getByRole('button', { name: shown('Connect'), exact: true }).count()).to.equal(0)

    await actions.click(page, 'Edit profile')
    await actions.waitForText(page, /managed by your home instance/)
    expect(await page.getByLabel(/^Display name/).count()).to.equal(0)
    await actions.clickInDialog(page, 'Cancel')
  })

  it('downloads its data without a password, which only its home instance knows', async () => {
    await actions.openSettings(page, 'data')
    await actions.click(page, 'Download')
    expect(await page.getByRole('dialog').getByLabel(shown('Your password')).count()).to.equal(0)
    const downloading = page.waitForEvent('download')
    await actions.clickInDialog(page, 'Download')

    const download = await downloading

    expect(download.suggestedFilename()).to.match(/^rosa.+\.zip$/)
    expect((await actions.readDownload(download)).subarray(0, 2).toString()).to.equal('PK')
    await actions.waitForText(page, 'Download complete.')
  })

  it('logs out everywhere else without a password, and stays here', async () => {
    const other = await loggedIn()
    await actions.waitForText(other, 'Online')

    await actions.openSettings(page, 'sessions')
    await actions.click(page, 'Log out everywhere else')
    expect(await page.getByRole('dialog').getByLabel(shown('Your password')).count()).to.equal(0)
    await actions.clickInDialog(page, 'Log out everywhere else')

    await other.waitForURL('**/login**')
    await actions.waitForText(page, 'You’re logged out everywhere else.')
    expect(await actions.pathAfterReload(page)).to.equal('/settings/sessions')
    await other.context().close()
  })

  it('is deleted with its username alone', async () => {
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Delete account')
    await actions.fillField(page, 'Your username', 'rosa')
    await actions.clickInDialog(page, 'Delete permanently')
    await page.getByRole('dialog').getByLabel(shown('Your username')).and(page.locator('[aria-invalid=true]')).waitFor()
    await actions.fillField(page, 'Your username', username)

    await actions.clickInDialog(page, 'Delete permanently')

    await page.waitForURL('**/login')
    expect((await postJson(remote, '/api/auth/login', { username, password })).status).to.equal(401)
  })
})
