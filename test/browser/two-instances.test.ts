import { freePort, launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { ask, startInstance, type Instance } from './instance.ts'
import * as steps from './steps.ts'

const rosa = { username: 'rosa', password: 'a long password' }
const theirAdmin = { username: 'warden', password: 'a long password' }
const newPassword = 'an even longer one'

describe('two instances in the browser', function () {
  this.timeout(180_000)
  let home: Instance
  let away: Instance
  let browser: Browser
  let page: Page

  before(async () => {
    const [homePort, awayPort] = [await freePort(), await freePort()]
    home = await startInstance('home', { port: homePort, peers: { away: awayPort } })
    away = await startInstance('away', { port: awayPort, peers: { home: homePort } })
    await ask(away, '/api/auth/register', theirAdmin)
    browser = await launchChromium()
    page = await steps.openTab(browser, home, '/register')
    await steps.register(page, rosa)
  })

  after(async () => {
    await browser?.close()
    await away?.[Symbol.asyncDispose]()
    await home?.[Symbol.asyncDispose]()
  })

  const instanceRow = () => page.getByRole('listitem').filter({ hasText: away.host })

  it('connects by the account at home', async () => {
    await connect(page, away, rosa.password)

    await instanceRow().getByText('Connected', { exact: true }).waitFor()
    expect((await logInThere(rosa.password)).status).to.equal(200)
  })

  it('passes a new password on to the other instance', async () => {
    const passedOn = page.waitForResponse(
      (response) =>
        response.url() === `${away.origin}/api/users/@me/change-password` && response.request().method() === 'POST',
    )
    await steps.changePassword(page, rosa.password, newPassword)

    expect((await passedOn).status()).to.equal(200)
    await instanceRow().getByText('Connected', { exact: true }).waitFor()
    expect((await logInThere(newPassword)).status).to.equal(200)
  })

  it('keeps the connection over a reload without asking for the password', async () => {
    await page.reload()

    await instanceRow().getByText('Connected', { exact: true }).waitFor()
  })

  it('names the result when an identity cannot be deleted, because the instances are no peers', async () => {
    await steps.press(page, 'Choose instances')
    await page.getByRole('checkbox', { name: away.host }).check()
    await steps.confirm(page, 'Delete identities')

    await steps.see(page, 'This instance is not a peer of your home instance.')
    await steps.confirm(page, 'Done')
  })

  it('asks the other instance to peer, which its admin approves', async () => {
    await page.goto(`${home.origin}/admin/peers`)
    await steps.fill(page, 'Address of an instance', away.origin)
    await steps.press(page, 'Ask to peer')
    await steps.see(page, 'pending')

    const admin = await steps.openTab(browser, away, '/login?redirect=/admin/peers')
    await steps.logIn(admin, theirAdmin)
    await steps.press(admin, `Approve ${home.host}`)
    await steps.see(admin, 'active')

    await page.reload()
    await steps.see(page, 'active')
    await admin.context().close()
  })

  it('deletes the identity there once the instances are peers', async () => {
    await page.goto(home.origin)
    await steps.press(page, 'Choose instances')
    await page.getByRole('checkbox', { name: away.host }).check()
    await steps.confirm(page, 'Delete identities')

    await page.getByRole('dialog').getByText('Deleted.').waitFor()

    expect((await logInThere(newPassword)).status).to.equal(401)
    await steps.confirm(page, 'Done')
  })

  it('deletes an account at home with its other identities, and says what became of them', async () => {
    const lena = { username: 'lena', password: 'a long password' }
    const tab = await steps.openTab(browser, home, '/register')
    await steps.register(tab, lena)
    await connect(tab, away, lena.password)
    await steps.press(tab, 'Delete account')
    await steps.fill(tab, 'Your username', lena.username)
    await steps.fill(tab, 'Your password', lena.password)
    await steps.confirm(tab, 'Delete for good')

    await tab.waitForURL('**/login')

    await steps.see(tab, 'Your account was deleted.')
    await tab.getByRole('listitem').filter({ hasText: away.host }).getByText('Deleted.').waitFor()
    const there = { username: `lena@${home.host}`, password: lena.password }
    expect((await ask(away, '/api/auth/login', there)).status).to.equal(401)
    await tab.context().close()
  })

  const logInThere = (password: string) => ask(away, '/api/auth/login', { username: `rosa@${home.host}`, password })
})

async function connect(page: Page, instance: Instance, password: string): Promise<void> {
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await steps.fill(page, 'Address of the instance', instance.origin)
  await steps.fill(page, 'Your password', password)
  await steps.confirm(page, 'Connect')
  await steps.see(page, /Connected to/)
}
