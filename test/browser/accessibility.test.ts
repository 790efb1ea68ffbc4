import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'
import { findUnclearNames } from './control-names.ts'

const admin = { username: 'alice', password: 'a long password' }
const axeFile = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** A page to check once it shows the text `ready`, and what to open on it first. */
type Target = { name: string; path: string; ready: string | RegExp; open?: (page: Page) => Promise<void> }

const publicPages: Target[] = [
  { name: 'login', path: '/login', ready: 'Create an account' },
  { name: 'registration', path: '/register', ready: 'Step 1 of 2', open: (page) => actions.click(page, 'Continue') },
  { name: 'new password', path: '/recover#1.x', ready: 'New password again' },
  { name: 'page not found', path: '/no-such-page', ready: 'Page not found' },
]

const accountPages: Target[] = [
  { name: 'home', path: '/channels/@me', ready: 'Online' },
  { name: 'account menu', path: '/channels/@me', ready: 'Online', open: (page) => actions.click(page, 'Your account') },
  {
    name: 'profile dialog',
    path: '/settings/profile',
    ready: 'Online',
    open: (page) => actions.click(page, 'Edit profile'),
  },
  {
    name: 'deletion dialog',
    path: '/settings/leave',
    ready: 'Delete account',
    open: (page) => actions.click(page, 'Delete account'),
  },
  {
    name: 'end of all sessions',
    path: '/settings/sessions',
    ready: 'This page',
    open: (page) => actions.click(page, 'Log out everywhere'),
  },
  {
    name: 'second factor',
    path: '/settings/security',
    ready: 'Turn on',
    open: (page) => actions.click(page, 'Turn on the second factor'),
  },
  {
    name: 'passkeys',
    path: '/settings/security',
    ready: 'No passkeys yet.',
    open: (page) => actions.click(page, 'Add a passkey'),
  },
  {
    name: 'download dialog',
    path: '/settings/data',
    ready: 'One archive',
    open: (page) => actions.click(page, 'Download'),
  },
  {
    name: 'connect dialog',
    path: '/settings/instances',
    ready: 'No connected',
    open: (page) => page.getByRole('button', { name: 'Connect', exact: true }).click(),
  },
  { name: 'overview', path: '/admin', ready: 'Registrations a day' },
  { name: 'users', path: '/admin/users', ready: '@bert' },
  {
    name: 'page of a user',
    path: '/admin/users',
    ready: '@bert',
    open: async (page) => {
      await page.getByRole('link', { name: '@bert' }).click()
      await page.getByRole('heading', { name: 'Latest acts' }).waitFor()
    },
  },
  ...[
    'Make admin: bert',
    'Recovery link for bert',
    'Temporary password for bert',
    'Suspend bert',
    'Unsuspend carl',
    'Delete bert',
  ].map((act) => ({
    name: act,
    path: '/admin/users',
    ready: '@bert',
    open: (page: Page) => actions.clickInMenu(page, act.slice(-4), act),
  })),
  {
    name: 'menu of a user',
    path: '/admin/users',
    ready: '@bert',
    open: (page) => actions.click(page, 'Actions for bert'),
  },
  { name: 'invites', path: '/admin/invites', ready: 'Friends' },
  { name: 'New invite', path: '/admin/invites', ready: 'Friends', open: (page) => actions.click(page, 'New invite') },
  ...['Edit Friends', 'Revoke Friends', 'Delete Friends', 'Who used it: Friends'].map((act) => ({
    name: act,
    path: '/admin/invites',
    ready: 'Friends',
    open: (page: Page) => actions.clickInMenu(page, 'Friends', act),
  })),
  { name: 'settings', path: '/admin/settings', ready: 'Who gets an account' },
  { name: 'federation', path: '/admin/federation', ready: 'b.example' },
  ...['Secret of b.example', 'Revoke b.example'].map((act) => ({
    name: act,
    path: '/admin/federation',
    ready: 'b.example',
    open: (page: Page) => actions.clickInMenu(page, 'b.example', act),
  })),
  { name: 'orders', path: '/admin/federation/orders', ready: 'None waits.' },
  { name: 'API page', path: '/api/docs', ready: 'Your token' },
  { name: 'audit log', path: '/admin/audit', ready: 'alice' },
]

describe('accessibility of every page', function () {
  this.timeout(120_000)
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let axe: string
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('accessibility'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    axe = await readFile(axeFile, 'utf8')
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
  })

  after(() => resources.disposeAsync())

  // A theme changes colors alone, and a width the layout alone: two runs meet each theme and each width.
  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 320],
  ] as const) {
    it(`has no axe violation, no unclear name and no horizontal overflow at ${width} px in the ${theme} theme`, async () => {
      const faults: string[] = []
      const page = await openPage({ theme, width })
      for (const target of publicPages) faults.push(...(await findFaults(page, target)))
      await page.addInitScript((storedToken) => localStorage.setItem('service_token', storedToken), token)
      for (const target of accountPages) faults.push(...(await findFaults(page, target)))

      expect(faults).to.deep.equal([])
      await page.context().close()
    })
  }

  it('keeps the chosen theme over a reload', async () => {
    const page = await openPage({ theme: 'light', width: 1280 })
    await page.goto(`${instance.origin}/login`)
    await actions.click(page, 'Switch to dark theme')

    await page.reload()

    await page.getByRole('button', { name: 'Switch to light theme' }).waitFor()
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
    await page.getByLabel('Adresse einer Instanz').fill(instance.origin)
    await page.getByRole('button', { name: 'Anfrage senden' }).click()
    await actions.waitForText(page, 'Das ist die Adresse dieser Instanz selbst')
    await page.goto(instance.origin)

    await page.getByLabel('Sprache').selectOption('en')
    await actions.waitForText(page, 'Connected instances')
    await page.reload()

    await actions.waitForText(page, 'Connected instances')
    await context.close()
  })

  it('is usable with the keyboard alone', async () => {
    const page = await openPage({ theme: 'light', width: 1280 })
    await page.goto(`${instance.origin}/login`)
    await page.getByLabel('Username').focus()
    await page.keyboard.type(admin.username)
    await page.keyboard.press('Tab')
    await page.keyboard.type(admin.password)
    await page.keyboard.press('Enter')
    await actions.waitForHomePage(page)

    const opener = page.getByRole('button', { name: 'Edit profile' })
    await opener.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')

    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await opener.evaluate((button) => button === document.activeElement)).to.equal(true)
    await page.context().close()
  })

  async function openPage({ theme, width }: { theme: 'light' | 'dark'; width: number }): Promise<Page> {
    const context = await browser.newContext({
      colorScheme: theme,
      viewport: { width, height: 800 },
      reducedMotion: 'reduce',
    })
    return context.newPage()
  }

  /** Targets of one path that follow each other share a page: loading it takes as long as checking it. */
  async function show(page: Page, { path, ready, open }: Target): Promise<void> {
    const dialog = page.locator('dialog[open]')
    if (page.url() !== instance.origin + path) await page.goto(instance.origin + path)
    else if ((await dialog.count()) > 0) await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await actions.waitForText(page, ready)
    await open?.(page)
  }

  async function findFaults(page: Page, target: Target): Promise<string[]> {
    await show(page, target)
    const found = await page.evaluate<AxeResults>(`${axe}; axe.run({ resultTypes: ['violations'] })`)
    const overflow = await page.evaluate(() => {
      const inside = [...document.querySelectorAll('.card, dialog[open], .dialog__body')]
      const wide = inside.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      return Math.max(document.documentElement.scrollWidth - window.innerWidth, ...wide)
    })
    return [
      ...(await findUnnamedInputs(page)).map((input) => `${target.name}: ${input}`),
      ...(target.path === '/api/docs' ? [] : await findUnclearNames(page)).map(
        (control) => `${target.name}: ${control}`,
      ),
      ...found.violations.map(({ id, nodes }) => `${target.name}: ${id} at ${nodes[0]?.target.join(' ')}`),
      ...(overflow > 0 ? [`${target.name}: ${overflow} px too wide`] : []),
    ]
  }
})

/** The inputs that a password manager could not tell apart: without a name or an id of their own, or without autocomplete. */
function findUnnamedInputs(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLInputElement>('input, select, textarea')].flatMap((input) => {
      const label = input.labels?.[0]?.textContent ?? input.outerHTML
      const typed = input.matches('input[type=text], input[type=password], input:not([type])')
      return [
        ...(input.name ? [] : [`no name: ${label}`]),
        ...(input.id && document.querySelectorAll(`[id='${input.id}']`).length === 1
          ? []
          : [`no id of its own: ${label}`]),
        ...(typed && !input.autocomplete ? [`no autocomplete: ${label}`] : []),
      ]
    }),
  )
}

type AxeResults = { violations: Array<{ id: string; nodes: Array<{ target: string[] }> }> }
