import { answered, eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as oidc from 'openid-client'
import type { Browser, Page } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'
const name = 'Reading wiki'
type Granted = Pick<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers, 'access_token' | 'claims'>

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Contract: 3, Applications. */
describe('applications that log people in, in the browser', () => {
  const resources = new AsyncDisposableStack()
  const tokens: Record<string, string> = {}
  let instance: Instance
  let browser: Browser
  let wiki: string
  let config: oidc.Configuration

  before(async () => {
    wiki = await startWiki()
    instance = resources.use(await startInstance('applications'))
    browser = resources.adopt(await launchChromium(), (open) => open.close())
    for (const username of ['first', 'mia', 'noah']) {
      const registered = await answered(postJson(instance, '/api/auth/register', { username, password }))
      tokens[username] = ((await registered.json()) as { token: string }).token
    }
  })
  after(() => resources.disposeAsync())

  /** Where people come back to. */
  async function startWiki(): Promise<string> {
    const server = createServer((_, response) => response.end('<!doctype html><title>Wiki</title>Welcome back'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    resources.defer(async () => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const open = (path: string, username?: string) =>
    actions.openPage(browser, instance, { path, prepare: addAxe, ...(username && { token: tokens[username] ?? '' }) })

  async function configure(id: string, secret: string): Promise<oidc.Configuration> {
    const customFetch: oidc.CustomFetch = (url, init) =>
      fetch(url.replace(instance.origin, `http://127.0.0.1:${instance.port}`), init as RequestInit)
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing but http on this machine
    const options = { [oidc.customFetch]: customFetch, execute: [oidc.allowInsecureRequests] }
    return await oidc.discovery(new URL(instance.origin), id, undefined, oidc.ClientSecretBasic(secret), options)
  }

  async function ask(more: Record<string, string> = {}) {
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const expectedState = oidc.randomState()
    const { href } = oidc.buildAuthorizationUrl(config, {
      redirect_uri: `${wiki}/callback`,
      scope: 'openid profile',
      state: expectedState,
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      ...more,
    })
    return { path: href.slice(instance.origin.length), checks: { pkceCodeVerifier, expectedState } }
  }

  async function comeBack(page: Page): Promise<URL> {
    await page.waitForURL(`${wiki}/callback?**`)
    return new URL(page.url())
  }

  const userNameOf = async ({ access_token: token, claims }: Pick<Granted, 'access_token' | 'claims'>) =>
    (await oidc.fetchUserInfo(config, token, claims()?.sub ?? '')).preferred_username

  it('are added by an admin, who turns the setting on and sees the secret once', async () => {
    await using page = await open('/admin/applications', 'first')
    await actions.waitForText(page, /^No applications yet\./)
    await page.getByRole('link', { name: shown('Go to Instance') }).click()
    await page.getByRole('switch', { name: shown('Log in to applications with this instance') }).click()
    await actions.waitForText(page, 'Changes saved.')
    await page.getByRole('link', { name: shown('Applications'), exact: true }).click()
    await actions.click(page, 'New application')
    await actions.fillField(page, 'Name', name)
    await actions.fillField(page, 'Redirect addresses', 'http://wiki.example/callback')
    await actions.clickInDialog(page, 'Add application')
    await actions.waitForText(page, /^http:\/\/wiki\.example\/callback isn’t allowed\./)
    await actions.fillField(page, 'Redirect addresses', `${wiki}/callback`)
    const devices =
      'Devices without a browser can log in with a code. Choose this only for applications that have some.'
    await page.getByRole('checkbox', { name: shown(devices) }).check()

    await actions.clickInDialog(page, 'Add application')

    await page.getByRole('dialog', { name: shown('Set up {name}', { name }) }).waitFor()
    const [issuer, id = '', secret = ''] = await page.locator('.secret-value code').allInnerTexts()
    expect(issuer).to.equal(instance.origin)
    expect(await findFaults(page)).to.deep.equal([])
    await actions.clickInDialog(page, 'I’ve saved it')
    await page.getByRole('heading', { name }).waitFor()
    expect(await page.locator('main').innerText())
      .to.include(id)
      .and.not.include(secret)
    expect(await findFaults(page)).to.deep.equal([])
    config = await eventually('the setting is on everywhere', () => configure(id, secret).catch(() => null))
  })

  it('ask a person once, who logs in first, sees it in the settings, and ends it there', async () => {
    const { path, checks } = await ask({ scope: 'openid profile offline_access', prompt: 'consent' })
    await using page = await open(path)
    await actions.logIn(page, { username: 'mia', password })
    await page.getByRole('heading', { name: shown('Log in to {name}', { name }) }).waitFor()
    await actions.waitForText(page, 'See your username, display name and avatar')
    expect(await findFaults(page)).to.deep.equal([])
    await actions.click(page, 'Allow')
    const granted = await oidc.authorizationCodeGrant(config, await comeBack(page), checks)
    expect(await userNameOf(granted)).to.equal('mia')

    const again = await ask()
    await page.goto(instance.origin + again.path)
    const silent = await oidc.authorizationCodeGrant(config, await comeBack(page), again.checks)
    expect(await userNameOf(silent)).to.equal('mia')

    await page.goto(`${instance.origin}/settings/applications`)
    await page.getByRole('heading', { name }).waitFor()
    expect(await findFaults(page)).to.deep.equal([])
    await actions.click(page, shown('End access of {name}', { name }))
    await actions.clickInDialog(page, 'End access')
    await actions.waitForText(page, 'You haven’t logged in to an application with this account.')

    for (const ended of [granted, silent])
      expect(await userNameOf(ended).catch((error: { status?: number }) => error.status)).to.equal(401)
    const refreshed = await oidc.refreshTokenGrant(config, granted.refresh_token ?? '').catch((error: Error) => error)
    expect(refreshed).to.include({ error: 'invalid_grant' })
    await page.goto(instance.origin + (await ask()).path)
    await page.getByRole('button', { name: shown('Allow'), exact: true }).waitFor()
  })

  it('hear a no, and let people change the account before they decide', async () => {
    const { path } = await ask({ login_hint: 'noah' })
    await using page = await open(path, 'mia')
    await actions.waitForText(page, shown('{name} expects the account {account}.', { name, account: 'noah' }))
    await actions.click(page, 'Use another account')
    await page.waitForURL('**/login?**')
    expect(await page.getByLabel(shown('Username')).inputValue()).to.equal('noah')
    await actions.fillField(page, 'Password', password)
    await actions.click(page, 'Log in')
    await actions.waitForText(page, '@noah')

    await actions.click(page, 'Deny')

    expect((await comeBack(page)).searchParams.get('error')).to.equal('access_denied')
  })

  it('ask nobody in another browser', async () => {
    await using page = await open((await ask()).path, 'mia')
    await page.getByRole('button', { name: shown('Allow'), exact: true }).waitFor()
    const { pathname, hash } = new URL(page.url())
    expect(pathname).to.equal('/authorize')

    await using other = await open(pathname + hash, 'noah')

    await actions.waitForText(other, /^This request has expired, or it was started in another browser\./)
    expect(await other.getByRole('button', { name: shown('Allow'), exact: true }).count()).to.equal(0)
    expect(await findFaults(other)).to.deep.equal([])
  })

  it('can demand that the person logs in again', async () => {
    const { path, checks } = await ask({ prompt: 'login' })
    await using page = await open(path, 'mia')
    await page.getByRole('heading', { name: shown('Log in again') }).waitFor()
    // Within one second a login is not known to be the later one.
    await instance.runSql(
      `update openid_rows set payload = payload || jsonb_build_object('iat', (payload ->> 'iat')::bigint - 5)
       where model = 'Interaction'`,
    )
    expect(await findFaults(page)).to.deep.equal([])
    await actions.click(page, 'Log in again')
    await page.waitForURL('**/login?**')
    await actions.fillField(page, 'Password', password)
    await actions.click(page, 'Log in')
    await actions.click(page, 'Allow')

    const granted = await oidc.authorizationCodeGrant(config, await comeBack(page), checks)

    expect(await userNameOf(granted)).to.equal('mia')
  })

  it('run on devices that show a code', async () => {
    const device = await oidc.initiateDeviceAuthorization(config, { scope: 'openid profile' })
    await using page = await open('/device?user_code=BBBB-BBBB', 'noah')
    await actions.click(page, 'Continue')
    await actions.waitForText(page, /^No device is waiting with this code\./)
    expect(await findFaults(page)).to.deep.equal([])
    const complete = new URL(device.verification_uri_complete ?? '')
    await page.goto(instance.origin + complete.pathname + complete.search)
    await actions.click(page, 'Continue')
    await actions.waitForText(page, /^Allow this only if you started it yourself/)
    expect(await findFaults(page)).to.deep.equal([])

    await actions.click(page, 'Allow')

    await actions.waitForText(page, 'Device connected')
    const granted = await oidc.genericGrantRequest(config, deviceGrant, { device_code: device.device_code })
    expect(await userNameOf(granted)).to.equal('noah')
  })

  it('log nobody in while they are suspended', async () => {
    await using page = await open('/admin/applications', 'first')
    await actions.clickInMenu(page, name, shown('Suspend {name}', { name }))
    await actions.clickInDialog(page, 'Suspend')
    await page.getByRole('listitem').filter({ hasText: name }).getByText(shown('Suspended')).waitFor()

    await page.goto(instance.origin + (await ask()).path)

    await actions.waitForText(page, 'This instance doesn’t know the application, or an admin has suspended it.')
    expect(new URL(page.url()).pathname).to.equal('/authorize')
  })
})
