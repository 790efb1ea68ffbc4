import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const admin = { username: 'alice', password: 'a long password' }
const axeFile = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** A page to check once it shows the text `ready`, and what to open on it first. */
type Target = { name: string; path: string; ready: string | RegExp; open?: (page: Page) => Promise<void> }

const publicPages: Target[] = [
  { name: 'login', path: '/login', ready: 'Create an account' },
  { name: 'registration', path: '/register', ready: 'Step 1 of 2', open: (page) => actions.click(page, 'Continue') },
  { name: 'page not found', path: '/no-such-page', ready: 'Page not found' },
]

const accountPages: Target[] = [
  { name: 'home', path: '/channels/@me', ready: 'Online' },
  {
    name: 'profile dialog',
    path: '/channels/@me',
    ready: 'Online',
    open: (page) => actions.click(page, 'Edit profile'),
  },
  {
    name: 'deletion dialog',
    path: '/channels/@me',
    ready: 'Online',
    open: (page) => actions.click(page, 'Delete account'),
  },
  { name: 'users', path: '/admin/users', ready: '@alice' },
  { name: 'invites', path: '/admin/invites', ready: 'Friends' },
  { name: 'settings', path: '/admin/settings', ready: 'Current rules' },
  { name: 'federation', path: '/admin/federation', ready: 'No peers yet' },
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
    await postJson(instance, '/api/admin/invites', { name: 'Friends', maxUses: 3, expiresAt: null }, token)
  })

  after(() => resources.disposeAsync())

  for (const theme of ['light', 'dark'] as const) {
    for (const width of [360, 1280]) {
      it(`has no axe violation and no horizontal overflow at ${width} px in the ${theme} theme`, async () => {
        const faults: string[] = []
        const page = await openPage({ theme, width })
        for (const target of publicPages) faults.push(...(await findFaults(page, target)))
        await page.addInitScript((storedToken) => localStorage.setItem('service_token', storedToken), token)
        for (const target of accountPages) faults.push(...(await findFaults(page, target)))

        expect(faults).to.deep.equal([])
        await page.context().close()
      })
    }
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

  async function findFaults(page: Page, target: Target): Promise<string[]> {
    await page.goto(instance.origin + target.path)
    await actions.waitForText(page, target.ready)
    await target.open?.(page)
    const found = await page.evaluate<AxeResults>(`${axe}; axe.run({ resultTypes: ['violations'] })`)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    return [
      ...found.violations.map(({ id, nodes }) => `${target.name}: ${id} at ${nodes[0]?.target.join(' ')}`),
      ...(overflow > 0 ? [`${target.name}: ${overflow} px too wide`] : []),
    ]
  }
})

type AxeResults = { violations: Array<{ id: string; nodes: Array<{ target: string[] }> }> }
