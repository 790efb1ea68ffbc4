import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import { insertJoining } from './joining.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const admin = { username: 'alice', password: 'a long password' }

/** A page to check once it shows the text `ready`, and what to open on it first. Dialogs are checked in dialogs.test.ts. */
type Target = { name: string; path: string; ready: string | RegExp; open?: (page: Page) => Promise<void> }

const publicPages: Target[] = [
  { name: 'login', path: '/login', ready: 'Create an account' },
  {
    name: 'registration',
    path: '/register',
    ready: shown('Step {current} of 2', { current: 1 }),
    open: (page) => actions.click(page, 'Continue'),
  },
  { name: 'new password', path: '/recover#1.x', ready: 'Confirm new password' },
  { name: 'forgotten password', path: '/forgot', ready: 'Username or email address' },
  { name: 'address to confirm', path: '/confirm-email#token=x', ready: 'Confirm your email address' },
  { name: 'canceled login', path: '/sign-in#error=cancelled', ready: 'The login was canceled.' },
  { name: 'unknown application', path: '/authorize#error=invalid_client', ready: /^This instance doesn’t know/ },
  { name: 'end of an application', path: '/authorize#logout=done', ready: 'Logged out of the application' },
  { name: 'page not found', path: '/no-such-page', ready: 'Page not found' },
]

const accountPages: Target[] = [
  { name: 'home', path: '/channels/@me', ready: 'Online' },
  { name: 'account menu', path: '/channels/@me', ready: 'Online', open: (page) => actions.click(page, 'Your account') },
  { name: 'own email address', path: '/settings/security', ready: 'not confirmed' },
  { name: 'own invites', path: '/settings/invites', ready: 'Friends' },
  { name: 'own applications', path: '/settings/applications', ready: 'Wiki' },
  { name: 'code of a device', path: '/device', ready: 'Connect a device' },
  { name: 'overview', path: '/admin', ready: 'Registrations per day' },
  { name: 'users', path: '/admin/users', ready: '@bert' },
  {
    name: 'page of a user',
    path: '/admin/users',
    ready: '@bert',
    open: async (page) => {
      await page.getByRole('link', { name: '@bert' }).click()
      await page.getByRole('heading', { name: shown('Recent activity') }).waitFor()
    },
  },
  {
    name: 'menu of a user',
    path: '/admin/users',
    ready: '@bert',
    open: (page) => actions.click(page, shown('Actions for {username}', { username: 'bert' })),
  },
  { name: 'registrations', path: '/admin/registrations', ready: 'I sing in the choir.' },
  {
    name: 'selected registrations',
    path: '/admin/registrations',
    ready: 'I sing in the choir.',
    open: (page) => actions.click(page, shown('Select network {network}', { network: '198.51.100.0' })),
  },
  { name: 'invites', path: '/admin/invites', ready: 'Friends' },
  { name: 'applications', path: '/admin/applications', ready: 'Wiki' },
  { name: 'settings', path: '/admin/settings', ready: 'Who can register' },
  { name: 'federation', path: '/admin/federation', ready: 'b.example' },
  { name: 'orders', path: '/admin/federation/orders', ready: 'No pending deletions.' },
  { name: 'API page', path: '/api/docs', ready: 'Your token' },
  { name: 'audit log', path: '/admin/audit', ready: 'alice' },
]

describe('accessibility of every page', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('accessibility', { smtpUrl: 'smtp://127.0.0.1:9' }))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    token = ((await (await postJson(instance, '/api/auth/register', admin)).json()) as { token: string }).token
    await answered(postJson(instance, '/api/auth/register', { username: 'bert', password: admin.password }))
    await answered(postJson(instance, '/api/auth/register', { username: 'carl', password: admin.password }))
    await instance.runSql(`update users set suspended_at = 1, suspended_reason = 'spam' where username = 'carl'`)
    await instance.runSql(
      `insert into peers (id, origin, host, secret, status, activated_at)
       values (1, 'https://b.example', 'b.example', 'none', 'active', now()),
         (2, 'https://a-long-name-of-an-instance.of.a.long.domain.example', 'a-long', 'none', 'revoked', now())`,
    )
    await answered(postJson(instance, '/api/admin/invites', { name: 'Friends', maxUses: 3, expiresAt: null }, token))
    await instance.runSql('update invites set by_member = true')
    await instance.runSql('update instance_settings set member_invites = 5, approval_required = true')
    await insertJoining(instance)
    await instance.runSql(
      `insert into applications (id, name, type, redirect_uris, post_logout_redirect_uris, signals_uri, skip_consent,
         access_tokens, suspended_at, created_at)
       values (1, 'Wiki', 'confidential', '["https://wiki.example/cb"]', '[]', 'https://wiki.example/s', false,
           'opaque', null, now()),
         (2, 'Forum', 'public', '["com.example.forum:/cb"]', '[]', null, true, 'jwt', now(), now())`,
    )
    await instance.runSql(
      `insert into application_consents (account_id, application_id, scopes, granted_at)
       select id, 1, '["openid", "profile"]', now() from users where username = 'alice'`,
    )
  })

  after(() => resources.disposeAsync())

  it('has no axe violation, no unclear name and no horizontal overflow, light at 1280 px and dark at 320 px', async () => {
    const faults: string[] = []
    const page = await openPage()
    await addAxe(page.context())
    for (const target of publicPages) faults.push(...(await findFaultsOf(page, target)))
    await page.addInitScript((storedToken) => localStorage.setItem('service_token', storedToken), token)
    for (const target of accountPages) faults.push(...(await findFaultsOf(page, target)))

    expect(faults).to.deep.equal([])
    await page.context().close()
  })

  it('keeps the chosen theme over a reload', async () => {
    const page = await openPage()
    await page.goto(`${instance.origin}/login`)
    await actions.click(page, 'Switch to dark theme')

    await page.reload()

    await page.getByRole('button', { name: shown('Switch to light theme') }).waitFor()
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).to.equal('dark')
    await page.context().close()
  })

  it('speaks the language that the browser asks for, and keeps another choice', async () => {
    const context = await browser.newContext({ locale: 'de-AT', reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(`${instance.origin}/login`)
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).to.equal('de')
    await page.getByLabel('Benutzername').fill(admin.username)
    await page.getByLabel('Passwort', { exact: true }).fill(admin.password)
    await page.getByRole('button', { name: 'Anmelden', exact: true }).click()
    await actions.waitForText(page, 'Verbundene Instanzen')
    expect(await page.title()).to.equal('Start · Gatehouse')
    await page.goto(`${instance.origin}/admin/federation`)
    await page.getByLabel('Adresse der Instanz').fill(instance.origin)
    await page.getByRole('button', { name: 'Anfrage senden' }).click()
    await actions.waitForText(page, 'Das ist diese Instanz.')
    await page.goto(instance.origin)

    await page.getByLabel('Sprache').selectOption('en')
    await actions.waitForText(page, 'Connected instances')
    await page.reload()

    await actions.waitForText(page, 'Connected instances')
    await context.close()
  })

  it('is usable with the keyboard alone', async () => {
    const page = await openPage()
    await page.goto(`${instance.origin}/login`)
    await page.getByLabel(shown('Username')).focus()
    await page.keyboard.type(admin.username)
    await page.keyboard.press('Tab')
    await page.keyboard.type(admin.password)
    await page.keyboard.press('Enter')
    await actions.waitForHomePage(page)

    const opener = page.getByRole('button', { name: shown('Edit profile') })
    await opener.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')

    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await opener.evaluate((button) => button === document.activeElement)).to.equal(true)
    await page.context().close()
  })

  async function openPage(): Promise<Page> {
    const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' })
    return context.newPage()
  }

  /** Targets of one path that follow each other share a page: loading it takes as long as checking it. */
  async function findFaultsOf(page: Page, { name, path, ready, open }: Target): Promise<string[]> {
    if (page.url() !== instance.origin + path) await page.goto(instance.origin + path)
    await actions.waitForText(page, ready)
    await open?.(page)
    const faults = await findFaults(page, { namesRepeat: path === '/api/docs' })
    return faults.map((fault) => `${name}, ${fault}`)
  }
})
