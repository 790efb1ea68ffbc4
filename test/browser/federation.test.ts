import { freePort, launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const rosa = { username: 'rosa', password: 'a long password' }
const remoteAdmin = { username: 'admin', password: 'a long password' }
const newPassword = 'an even longer one'

describe('federation in the browser', function () {
  this.timeout(180_000)
  const resources = new AsyncDisposableStack()
  let home: Instance
  let remote: Instance
  let browser: Browser
  let page: Page

  before(async () => {
    const [homePort, remotePort] = [await freePort(), await freePort()]
    home = resources.use(await startInstance('home', { port: homePort, peers: { remote: remotePort } }))
    remote = resources.use(await startInstance('remote', { port: remotePort, peers: { home: homePort } }))
    await postJson(remote, '/api/auth/register', remoteAdmin)
    browser = await launchChromium()
    resources.defer(() => browser.close())
    page = await actions.openPage(browser, home, '/register')
    await actions.register(page, rosa)
  })

  after(() => resources.disposeAsync())

  const instanceRow = () => page.getByRole('listitem').filter({ hasText: remote.host })

  it('connects to another instance with the account of the home instance', async () => {
    await connect(page, remote, rosa.password)

    await instanceRow().getByText('Connected', { exact: true }).waitFor()
    expect((await logInAtRemote(rosa.password)).status).to.equal(200)
  })

  it('sends a new password to the other instance', async () => {
    const propagated = page.waitForResponse(
      (response) =>
        response.url() === `${remote.origin}/api/users/@me/change-password` && response.request().method() === 'POST',
    )
    await actions.changePassword(page, rosa.password, newPassword)

    expect((await propagated).status()).to.equal(200)
    await instanceRow().getByText('Connected', { exact: true }).waitFor()
    expect((await logInAtRemote(newPassword)).status).to.equal(200)
  })

  it('restores the connection after a reload without asking for the password', async () => {
    await page.reload()

    await instanceRow().getByText('Connected', { exact: true }).waitFor()
  })

  it('shows why an identity cannot be deleted while the instances are not peers', async () => {
    await actions.click(page, 'Choose instances')
    await page.getByRole('checkbox', { name: remote.host }).check()
    await actions.clickInDialog(page, 'Delete identities')

    await actions.waitForText(page, 'This instance is not a peer of your home instance.')
    await actions.clickInDialog(page, 'Done')
  })

  it('sends a peering request, which the admin of the other instance approves', async () => {
    await page.goto(`${home.origin}/admin/federation`)
    await actions.fillField(page, 'Address of an instance', remote.origin)
    await actions.click(page, 'Send request')
    await actions.waitForText(page, 'pending')

    const admin = await actions.openPage(browser, remote, '/login?redirect=/admin/federation')
    await actions.logIn(admin, remoteAdmin)
    await actions.click(admin, `Approve ${home.host}`)
    await actions.waitForText(admin, 'active')

    await page.reload()
    await actions.waitForText(page, 'active')
    await admin.context().close()
  })

  it('deletes the identity on the other instance once they are peers', async () => {
    await page.goto(home.origin)
    await actions.click(page, 'Choose instances')
    await page.getByRole('checkbox', { name: remote.host }).check()
    await actions.clickInDialog(page, 'Delete identities')

    await page.getByRole('dialog').getByText('Deleted.').waitFor()

    expect((await logInAtRemote(newPassword)).status).to.equal(401)
    await actions.clickInDialog(page, 'Done')
  })

  it('deletes an account with its identities on other instances, and shows the results', async () => {
    const lena = { username: 'lena', password: 'a long password' }
    const tab = await actions.openPage(browser, home, '/register')
    await actions.register(tab, lena)
    await connect(tab, remote, lena.password)
    await actions.click(tab, 'Delete account')
    await actions.fillField(tab, 'Your username', lena.username)
    await actions.fillField(tab, 'Your password', lena.password)
    await actions.clickInDialog(tab, 'Delete permanently')

    await tab.waitForURL('**/login')

    await actions.waitForText(tab, 'Your account was deleted.')
    await tab.getByRole('listitem').filter({ hasText: remote.host }).getByText('Deleted.').waitFor()
    const remoteCredentials = { username: `lena@${home.host}`, password: lena.password }
    expect((await postJson(remote, '/api/auth/login', remoteCredentials)).status).to.equal(401)
    await tab.context().close()
  })

  const logInAtRemote = (password: string) =>
    postJson(remote, '/api/auth/login', { username: `rosa@${home.host}`, password })
})

async function connect(page: Page, instance: Instance, password: string): Promise<void> {
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await actions.fillField(page, 'Address of the instance', instance.origin)
  await actions.fillField(page, 'Your password', password)
  await actions.clickInDialog(page, 'Connect')
  await actions.waitForText(page, /Connected to/)
}
