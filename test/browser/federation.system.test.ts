import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { postJson, startPair, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const rosa = { username: 'rosa', password: 'a long password' }
const remoteAdmin = { username: 'admin', password: 'a long password' }
const newPassword = 'an even longer one'
const fourthPassword = 'a fourth long password'
const issuedCredential = '**/api/users/@me/federation-credential'

describe('federation in the browser', () => {
  const resources = new AsyncDisposableStack()
  let home: Instance
  let remote: Instance
  let browser: Browser
  let page: Page

  before(async () => {
    ;[home, remote] = await startPair(resources, ['home', 'remote'])
    await answered(postJson(remote, '/api/auth/register', remoteAdmin))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    page = await actions.openPage(browser, home, '/register')
    // As at a home of an older release.
    await page.route(issuedCredential, (route) => route.fulfill({ status: 404, json: { error: 'Not found' } }))
    await actions.register(page, rosa)
  })

  after(() => resources.disposeAsync())

  const instanceRow = () => page.getByRole('listitem').filter({ hasText: shownText(remote.host) })

  it('connects to another instance with the account of the home instance', async () => {
    await connect(page, remote, rosa.password)

    await instanceRow().getByText(shown('Connected'), { exact: true }).waitFor()
    await instanceRow().getByText(shown('Same password as here')).waitFor()
    expect((await logInAtRemote(rosa.password)).status).to.equal(200)
  })

  it('sends a new password to the other instance', async () => {
    const propagated = page.waitForResponse(
      (response) =>
        response.url() === `${remote.origin}/api/users/@me/change-password` && response.request().method() === 'POST',
    )
    await actions.changePassword(page, rosa.password, newPassword)
    await actions.openSettings(page, 'instances')

    expect((await propagated).status()).to.equal(200)
    await instanceRow().getByText(shown('Connected'), { exact: true }).waitFor()
    expect((await logInAtRemote(newPassword)).status).to.equal(200)
  })

  it('restores the connection after a reload without asking for the password', async () => {
    await page.reload()

    await instanceRow().getByText(shown('Connected'), { exact: true }).waitFor()
  })

  it('sends a password again that an instance missed, once the home instance has verified it', async () => {
    const missed = 'a third long password'
    await page.route(`${remote.origin}/api/users/@me/change-password`, (route) => route.abort())
    await actions.changePassword(page, newPassword, missed)
    await actions.openSettings(page, 'instances')
    await instanceRow().getByText(shown('Updating password…')).waitFor()
    await page.reload()
    await instanceRow().getByText(shown('Still uses your old password')).waitFor()
    await page.unroute(`${remote.origin}/api/users/@me/change-password`)

    await actions.click(page, 'Update password')
    await actions.fillField(page, 'Current password', 'mistyped password')
    await actions.clickInDialog(page, 'Update')
    await actions.waitForText(page, 'Wrong password.')
    expect((await logInAtRemote('mistyped password')).status).to.equal(401)
    await actions.fillField(page, 'Current password', missed)
    await actions.clickInDialog(page, 'Update')

    await actions.waitForText(page, `Password updated on ${remote.host}`)
    expect((await logInAtRemote(missed)).status).to.equal(200)
  })

  it('gives the account there a password of its own once the home issues them, and sends it no new one', async () => {
    const sent: string[] = []
    page.on('request', (request) => void sent.push(`${request.method()} ${request.url()}`))
    await page.unroute(issuedCredential)
    const change = `${remote.origin}/api/users/@me/change-password`
    // A reload would lose the answer, and with it the session there.
    const changed = page.waitForResponse((response) => response.url() === change && response.status() === 200)
    await page.reload()
    await changed
    await instanceRow().getByText(shown('Separate password')).waitFor()
    const changesThere = () => sent.filter((call) => call === `POST ${change}`)
    expect(changesThere()).to.have.length(1)

    await actions.changePassword(page, 'a third long password', fourthPassword)
    await actions.openSettings(page, 'instances')
    await page.reload()
    await instanceRow().getByText(shown('Connected'), { exact: true }).waitFor()

    expect(changesThere()).to.have.length(1)
  })

  it('names the instances that are not connected before the account is deleted', async () => {
    await actions.click(page, shown('Disconnect {host}', { host: remote.host }))
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Delete account')

    await page.getByRole('dialog').getByText(`You’re not connected to ${remote.host}`).waitFor()
    await actions.clickInDialog(page, 'Cancel')
  })

  it('shows an instance that another app of the user has connected', async () => {
    const login = await postJson(home, '/api/auth/login', { username: rosa.username, password: fourthPassword })
    const { token } = (await login.json()) as { token: string }
    const entry = { origin: 'https://elsewhere.example', label: 'Elsewhere', status: 'connected', addedAt: 1 }
    await fetch(`http://127.0.0.1:${home.port}/api/users/@me/federation-registry`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ registry: [entry], updatedAt: Date.now() + 60_000 }),
    })

    await page.reload()
    await actions.waitForText(page, 'Connected instances')
    await actions.openSettings(page, 'instances')

    const row = page.getByRole('listitem').filter({ hasText: 'Elsewhere' })
    await row.getByText(shown('Connected from another app')).waitFor()
    await row.getByRole('button', { name: shown('Connect to {host}', { host: 'elsewhere.example' }) }).waitFor()
  })

  it('shows why an identity cannot be deleted while the instances are not peers', async () => {
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Choose instances…')
    await page.getByRole('checkbox', { name: shownText(remote.host) }).check()
    await actions.clickInDialog(page, 'Delete accounts')

    await actions.waitForText(page, 'Not a peer of your home instance.')
    await actions.clickInDialog(page, 'Done')
  })

  it('asks the admin for a peering with the instance to which the user has connected', async () => {
    await page.goto(`${home.origin}/admin/federation`)

    await actions.waitForText(page, 'Requests from your users')
    await page.getByRole('button', { name: shown('Approve {host}', { host: remote.host }) }).waitFor()
  })

  it('sends a peering request, which the admin of the other instance approves, and both pages follow', async () => {
    await actions.fillField(page, 'Instance address', remote.origin)
    await actions.click(page, 'Send request')
    await peerState(page, remote).getByText(shown('waiting for approval')).waitFor()

    const admin = await actions.openPage(browser, remote, '/login?redirect=/admin/federation')
    await actions.logIn(admin, remoteAdmin)
    await actions.click(admin, shown('Approve {host}', { host: home.host }))

    await peerState(admin, home).getByText(shown('active'), { exact: true }).waitFor()
    await peerState(page, remote).getByText(shown('active'), { exact: true }).waitFor()
    await admin.context().close()
  })

  it('rotates the secret of a peer, and sets how often', async () => {
    await actions.clickInMenu(page, remote.host, shown('Rotate secret for {host}', { host: remote.host }))
    await actions.clickInDialog(page, 'Rotate now')
    await actions.waitForText(page, 'Secret rotated.')

    await actions.clickInMenu(page, remote.host, shown('Rotate secret for {host}', { host: remote.host }))
    await actions.fillField(page, 'Rotate every (days)', '366')
    await actions.waitForText(page, shown('Enter a number from 1 to {maxRotationDays}.', { maxRotationDays: 365 }))
    await actions.fillField(page, 'Rotate every (days)', '30')
    await actions.clickInDialog(page, 'Save')
    await actions.waitForText(page, 'every 30 days')
  })

  it('deletes the identity on the other instance once they are peers', async () => {
    await page.goto(home.origin)
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Choose instances…')
    await page.getByRole('checkbox', { name: shownText(remote.host) }).check()
    await actions.clickInDialog(page, 'Delete accounts')

    await page.getByRole('dialog').getByText(shown('Deleted.')).waitFor()

    expect((await logInAtRemote(fourthPassword)).status).to.equal(401)
    await actions.clickInDialog(page, 'Done')
  })

  it('revokes a peer, and forgets it', async () => {
    await page.goto(`${home.origin}/admin/federation`)
    await actions.clickInMenu(page, remote.host, shown('End peering with {name}', { name: remote.host }))
    await actions.clickInDialog(page, 'End peering')
    await peerState(page, remote).getByText(shown('revoked'), { exact: true }).waitFor()

    await actions.clickInMenu(page, remote.host, shown('Remove from list: {name}', { name: remote.host }))
    await actions.clickInDialog(page, 'Remove from list')

    await actions.waitForText(page, /removed from the list\./)
    await peerState(page, remote).waitFor({ state: 'detached' })
  })

  it('deletes an account with its identities on other instances, and shows the results', async () => {
    const lena = { username: 'lena', password: 'a long password' }
    const tab = await actions.openPage(browser, home, '/register')
    await actions.register(tab, lena)
    await connect(tab, remote, lena.password)
    await actions.openSettings(tab, 'leave')
    await actions.click(tab, 'Delete account')
    await actions.fillField(tab, 'Your username', lena.username)
    await actions.fillField(tab, 'Your password', lena.password)
    await actions.clickInDialog(tab, 'Delete permanently')

    await tab.waitForURL('**/login')

    await actions.waitForText(tab, 'Your account has been deleted.')
    await tab
      .getByRole('listitem')
      .filter({ hasText: shownText(remote.host) })
      .getByText(shown('Deleted.'))
      .waitFor()
    const remoteCredentials = { username: `lena@${home.host}`, password: lena.password }
    expect((await postJson(remote, '/api/auth/login', remoteCredentials)).status).to.equal(401)
    await tab.context().close()
  })

  it('asks once for the password of an account there that is older than the connection', async () => {
    const mona = { username: 'mona', password: 'a long password' }
    const tab = await actions.openPage(browser, home, '/register')
    await actions.register(tab, mona)
    const { token } = (await (await postJson(home, '/api/auth/login', mona)).json()) as { token: string }
    const self = await fetch(`http://127.0.0.1:${home.port}/api/users/@me`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { id } = (await self.json()) as { id: string }
    const there = { username: `mona@${home.host}`, password: 'the password there' }
    const identity = { homeInstance: home.host, homeUserId: id }
    await answered(postJson(remote, '/api/auth/register', { ...there, ...identity }), 201)

    await openConnectDialog(tab, remote, mona.password)
    await actions.fillField(
      tab,
      shown('Your password on {host}', { host: new URL(remote.origin).host }),
      there.password,
    )
    await actions.clickInDialog(tab, 'Connect')

    await actions.waitForText(tab, /Connected to/)
    const row = tab.getByRole('listitem').filter({ hasText: shownText(remote.host) })
    await row.getByText(shown('Separate password')).waitFor()
    expect((await postJson(remote, '/api/auth/login', there)).status).to.equal(401)
    await tab.context().close()
  })

  it('denies the peering that a user of this instance has caused to be asked for', async () => {
    await page.goto(`${home.origin}/admin/federation`)
    await actions.waitForText(page, 'Requests from your users')

    await actions.click(page, shown('Deny {host}', { host: remote.host }))

    await actions.waitForText(page, /^Request from .* denied/)
    await page.getByRole('button', { name: shown('Deny {host}', { host: remote.host }) }).waitFor({ state: 'detached' })
  })

  const logInAtRemote = (password: string) =>
    postJson(remote, '/api/auth/login', { username: `rosa@${home.host}`, password })
})

/** The heading of a peer's row, with its state. */
function peerState(page: Page, peer: Instance) {
  return page.getByRole('region', { name: shown('Peers') }).getByRole('heading', { name: shownText(peer.host) })
}

async function connect(page: Page, instance: Instance, password: string): Promise<void> {
  await openConnectDialog(page, instance, password)
  await actions.waitForText(page, /Connected to/)
}

async function openConnectDialog(page: Page, instance: Instance, password: string): Promise<void> {
  await actions.openSettings(page, 'instances')
  await page.getByRole('button', { name: shown('Connect'), exact: true }).click()
  await actions.fillField(page, 'Instance address', instance.origin)
  await actions.fillField(page, 'Your password', password)
  await actions.clickInDialog(page, 'Connect')
}
