import { eventually, answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page, WebSocketRoute } from 'playwright-core'
import { shown } from './shown.ts'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('journeys through an account in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })

  after(() => resources.disposeAsync())

  /** A page of an account that registers, or logs in. */
  const openHome = async (username: string, by: 'register' | 'login'): Promise<Page> => {
    const reply = await answered(postJson(instance, `/api/auth/${by}`, { username, password }))
    const { token } = (await reply.json()) as { token: string }
    const page = await actions.openPage(browser, instance, { path: '/channels/@me', token })
    await actions.waitForHomePage(page)
    return page
  }
  const registered = (username: string) => openHome(username, 'register')
  const loggedIn = (username: string) => openHome(username, 'login')

  it('keeps the second step of the registration over the way back and over a refusal', async () => {
    const page = await actions.openPage(browser, instance, '/register')
    await actions.fillField(page, 'Username', 'hedy')
    await actions.fillField(page, 'Password', password)
    await actions.fillField(page, 'Confirm password', password)
    await actions.click(page, 'Continue')
    await actions.fillField(page, 'Display name', 'Hedy L.')
    await page.getByRole('radio', { name: shown('coral') }).check({ force: true })
    await actions.click(page, 'Back')
    await actions.click(page, 'Continue')
    expect(await page.getByLabel(/^Display name/).inputValue()).to.equal('Hedy L.')

    await answered(postJson(instance, '/api/auth/register', { username: 'hedy', password }))
    await actions.click(page, 'Create account')
    await actions.waitForText(page, 'That username is taken.')
    await actions.fillField(page, 'Username', 'hedy2')
    await actions.click(page, 'Continue')

    expect(await page.getByLabel(/^Display name/).inputValue()).to.equal('Hedy L.')
    expect(await page.getByRole('radio', { name: shown('coral') }).isChecked()).to.equal(true)
    await actions.click(page, 'Create account')
    await actions.waitForHomePage(page)
    await actions.waitForText(page, 'Hedy L.')
    await page.context().close()
  })

  it('shows every page from its top, with its header, and gives it the focus', async () => {
    const page = await actions.openPage(browser, instance, '/register')
    await page.setViewportSize({ width: 360, height: 500 })
    const place = () => page.evaluate(() => [window.scrollY, document.activeElement?.id ?? '', document.title] as const)
    await actions.register(page, { username: 'annie', password })
    expect(await place()).to.deep.equal([0, 'main', 'Home · Gatehouse'])

    await page.evaluate(() => localStorage.clear())
    await page.goto(`${instance.origin}/login`)
    await actions.logIn(page, { username: 'annie', password })
    await actions.waitForHomePage(page)
    expect(await place()).to.deep.equal([0, 'main', 'Home · Gatehouse'])

    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight))
    await page.getByRole('link', { name: shown('Gatehouse') }).click()
    await page.goBack().catch(() => null)
    await actions.logOut(page)
    await page.getByRole('heading', { name: shown('Log in') }).waitFor()
    // It is shown a moment before it has the focus.
    await page.locator(':focus').waitFor()
    expect((await place())[0]).to.equal(0)
    expect(await page.evaluate(() => document.activeElement?.tagName)).to.equal('H1')
    await page.context().close()
  })

  it('logs out everywhere else, at once, and stays here', async () => {
    const page = await registered('greta')
    const other = await loggedIn('greta')
    await actions.openSettings(page, 'sessions')
    const sockets = page.getByRole('region', { name: shown('Active now') }).getByRole('listitem')
    await eventually('both sockets', async () => {
      await actions.click(page, 'Refresh')
      return (await sockets.count()) === 2
    })
    expect(await sockets.filter({ hasText: shown('This tab') }).count()).to.equal(1)
    expect(await sockets.first().textContent()).to.match(/Chrome · Linux.*This tab.*connected/)

    await actions.click(page, 'Log out everywhere else')
    await page.getByLabel(shown('Your password'), { exact: true }).fill('not the password')
    await actions.clickInDialog(page, 'Log out everywhere else')
    await actions.waitForText(page, 'Wrong password.')
    await page.getByLabel(shown('Your password'), { exact: true }).fill(password)
    await actions.clickInDialog(page, 'Log out everywhere else')

    await other.waitForURL('**/login**')
    await actions.waitForText(other, 'Your session has ended. Please log in again.')
    await actions.waitForText(page, 'You’re logged out everywhere else.')
    expect(await actions.pathAfterReload(page)).to.equal('/settings/sessions')
    await Promise.all([page.context().close(), other.context().close()])
  })

  it('logs out everywhere else, at once, by a change of the password, and stays connected in the own tabs', async () => {
    const page = await registered('joan')
    const other = await loggedIn('joan')
    const sibling = await page.context().newPage()
    await sibling.goto(page.url())
    for (const each of [page, other, sibling]) await actions.waitForText(each, 'Online')
    const sockets: unknown[] = []
    for (const own of [page, sibling]) own.on('websocket', (socket) => sockets.push(socket))
    await actions.changePassword(page, password, 'another password')

    await other.waitForURL('**/login**')
    await actions.waitForText(other, 'Your session has ended. Please log in again.')
    await actions.openSettings(page, 'sessions')
    const open = page.getByRole('region', { name: shown('Active now') }).getByRole('listitem')
    await eventually('the sockets of both tabs', async () => (await open.count()) === 2)
    expect(sockets, 'sockets that were opened anew').to.deep.equal([])
    await actions.openSettings(sibling, 'sessions')
    expect(await actions.pathAfterReload(sibling)).to.equal('/settings/sessions')
    await Promise.all([page.context().close(), other.context().close()])
  })

  it('downloads the own data, which the deletion offers before, and shows the progress', async () => {
    const page = await registered('mary')
    let answer: () => void = () => undefined
    const held = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/api/users/@me/export', (route) => held.then(() => route.continue()))
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Delete account')
    await actions.clickInDialog(page, 'Download your data first')
    await page.getByLabel(shown('Your password'), { exact: true }).fill(password)
    const downloading = page.waitForEvent('download')
    await actions.clickInDialog(page, 'Download')
    await page.getByRole('progressbar', { name: shown('Download') }).waitFor()
    await actions.waitForText(page, '0 kB downloaded')
    answer()

    const download = await downloading

    expect(download.suggestedFilename()).to.equal('mary.zip')
    expect((await actions.readDownload(download)).subarray(0, 2).toString()).to.equal('PK')
    await actions.waitForText(page, 'Download complete.')
    await page.context().close()
  })

  it('names the owned spaces because of which an account is not deleted', async () => {
    const page = await registered('rosalind')
    const sql = `insert into spaces (id, name, owner_id) select 77, 'The garden', id from users where username = 'rosalind'`
    await instance.runSql(sql)
    await actions.openSettings(page, 'leave')
    await actions.click(page, 'Delete account')
    await actions.fillField(page, 'Your username', 'rosalind')
    await actions.fillField(page, 'Your password', password)

    await actions.clickInDialog(page, 'Delete permanently')

    await page.getByRole('dialog').getByText('The garden').waitFor()
    await actions.waitForText(page, 'Your account wasn’t deleted')
    await page.context().close()
  })

  it('ends in both tabs of a browser when the session is over, and says so', async () => {
    const page = await registered('emmy')
    const tab = await page.context().newPage()
    await tab.goto(instance.origin)
    await actions.waitForHomePage(tab)
    const login = await postJson(instance, '/api/auth/login', { username: 'emmy', password })
    const { token } = (await login.json()) as { token: string }

    await answered(postJson(instance, '/api/users/@me/sessions/end', { password }, token))

    for (const open of [page, tab]) {
      await open.waitForURL('**/login**')
      await actions.waitForText(open, /Your session has ended|Logged out in this browser/)
    }
    await page.context().close()
  })

  it('keeps the session of both tabs while the instance gives no answer, says so, and goes on by itself', async () => {
    const page = await loggedIn('annie')
    const tab = await page.context().newPage()
    let isDown = true
    await page.context().route('**/api/users/@me', (route) => {
      return isDown ? route.fulfill({ status: 503, json: { error: 'Busy', statusCode: 503 } }) : route.continue()
    })
    await page.reload()
    await tab.goto(instance.origin)
    for (const open of [page, tab]) await actions.waitForText(open, 'This instance isn’t responding.')
    expect(await page.evaluate(() => localStorage.getItem('service_token'))).to.be.a('string')
    expect(new URL(page.url()).pathname).to.equal('/channels/@me')

    isDown = false

    await actions.waitForHomePage(page)
    await actions.waitForHomePage(tab)
    await page.context().close()
  })

  it('says that it is offline, and is connected again when the network is back', async () => {
    const page = await registered('lise')
    let online = true
    const sockets: WebSocketRoute[] = []
    await page.routeWebSocket('**/ws', (socket) => {
      if (!online) return void socket.close()
      socket.connectToServer()
      sockets.push(socket)
    })
    await page.reload()
    const status = page.getByRole('contentinfo').getByRole('status')
    await status.getByText(shown('Connected')).waitFor()

    await actions.openSettings(page, 'sessions')
    await page.getByText(shown('This tab'), { exact: true }).waitFor()
    await page.goBack()
    online = false
    await page.context().setOffline(true)
    for (const socket of sockets) await socket.close()
    await status.getByText(/Reconnecting…|Connecting…/).waitFor()
    await page
      .getByRole('region', { name: shown('Profile') })
      .getByText(shown('Offline'))
      .waitFor()
    await actions.openSettings(page, 'sessions')
    await actions.waitForText(
      page,
      shown('Couldn’t reach {who}. Check your connection and try again.', { who: 'this instance' }),
    )

    online = true
    await page.context().setOffline(false)
    await status.getByText(shown('Connected')).waitFor()
    await page.getByText(shown('This tab'), { exact: true }).waitFor()
    await page.goBack()
    await page
      .getByRole('region', { name: shown('Profile') })
      .getByText(shown('Online'))
      .waitFor()
    await page.context().close()
  })

  it('says that a page could not be fetched, instead of showing nothing, and fetches it again', async () => {
    const page = await loggedIn('lise')
    const files = '**/*settings-page*'
    await page.route(files, (route) => route.abort())
    await page.reload()
    await actions.waitForHomePage(page)
    await actions.openSettings(page, 'profile')
    await actions.waitForText(page, 'This page couldn’t load. Check your connection and try again.')

    await page.unroute(files)
    await actions.click(page, 'Try again')

    await page.getByRole('heading', { name: shown('Settings'), level: 1 }).waitFor()
    await page.context().close()
  })

  it('logs in by password while parts of the login page could not be fetched, and says so', async () => {
    await answered(postJson(instance, '/api/auth/register', { username: 'maria', password }))
    const page = await actions.openPage(browser, instance, '/login')
    const providers = [{ id: 'university', name: 'University' }]
    await page.route('**/api/auth/providers', (route) => route.fulfill({ json: { providers, passwords: true } }))
    await page.evaluate(() => localStorage.setItem('gatehouse_registration', '{"username":"maria","receipt":"kept"}'))
    const aborted = new Set<string>()
    await page.route(/\/(provider-buttons|receipt-notice)-/, async (route) => {
      aborted.add(/provider-buttons|receipt-notice/.exec(route.request().url())?.[0] ?? '')
      await route.abort()
    })
    await page.reload()
    await actions.waitForText(page, 'This page couldn’t load. Check your connection and try again.')

    await actions.logIn(page, { username: 'maria', password })

    await actions.waitForHomePage(page)
    expect([...aborted]).to.have.members(['provider-buttons', 'receipt-notice'])
    await page.context().close()
  })

  it('keeps the settings while one part of them could not be fetched, and fetches it again', async () => {
    const page = await registered('hertha')
    const files = '**/applications-section-*'
    await page.route(files, (route) => route.abort())
    await actions.openSettings(page, 'applications')
    await actions.waitForText(page, 'This page couldn’t load. Check your connection and try again.')
    await page.getByRole('heading', { name: shown('Settings'), level: 1 }).waitFor()

    await page.unroute(files)
    await actions.click(page, 'Try again')

    await page.getByRole('region', { name: shown('Connected applications') }).waitFor()
    await page.context().close()
  })

  it('shows progress while the network is slow, and sends nothing twice', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    let answer: () => void = () => undefined
    const held = new Promise<void>((resolve) => (answer = resolve))
    let requests = 0
    await page.route('**/api/auth/login', async (route) => {
      requests += 1
      await held
      await route.continue()
    })
    await actions.fillField(page, 'Username', 'annie')
    await actions.fillField(page, 'Password', password)
    const button = page.getByRole('button', { name: shown('Log in'), exact: true })
    await button.click()
    await page.locator('button[aria-busy=true]').waitFor()
    await button.click({ force: true })
    answer()

    await actions.waitForHomePage(page)
    expect(requests).to.equal(1)
    await page.context().close()
  })

  it('prints nothing secret', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await actions.fillField(page, 'Password', 'printed by mistake')
    await page.getByRole('button', { name: shown('Show {label}', { label: 'password' }) }).click()
    await page.emulateMedia({ media: 'print' })

    expect(await page.getByLabel(shown('Password'), { exact: true }).isVisible()).to.equal(false)
    await page.context().close()
  })
})
