import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { ask, startInstance, type Instance } from './instance.ts'
import * as steps from './steps.ts'

const boss = { username: 'boss', password: 'a long password' }
const axeFile = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

type Scene = { name: string; path: string; ready: string | RegExp; open?: (page: Page) => Promise<void> }

const outside: Scene[] = [
  { name: 'the log-in page', path: '/login', ready: 'Create an account' },
  { name: 'the registration', path: '/register', ready: 'Step 1 of 2', open: (page) => steps.press(page, 'Continue') },
  { name: 'a page that is not there', path: '/nowhere', ready: 'No door here' },
]

const inside: Scene[] = [
  { name: 'home', path: '/channels/@me', ready: 'Online' },
  {
    name: 'the profile dialog',
    path: '/channels/@me',
    ready: 'Online',
    open: (page) => steps.press(page, 'Edit profile'),
  },
  { name: 'the deletion', path: '/channels/@me', ready: 'Online', open: (page) => steps.press(page, 'Delete account') },
  { name: 'the users', path: '/admin/users', ready: '@boss' },
  { name: 'the invites', path: '/admin/invites', ready: 'Friends' },
  { name: 'the gates', path: '/admin/gates', ready: 'In force now' },
  { name: 'the peers', path: '/admin/peers', ready: 'No peer yet' },
  { name: 'the audit log', path: '/admin/audit', ready: 'boss' },
]

describe('every page, for everyone', function () {
  this.timeout(120_000)
  let instance: Instance
  let browser: Browser
  let axe: string
  let token: string

  before(async () => {
    instance = await startInstance('pages')
    browser = await launchChromium()
    axe = await readFile(axeFile, 'utf8')
    token = ((await (await ask(instance, '/api/auth/register', boss)).json()) as { token: string }).token
    await ask(instance, '/api/admin/invites', { name: 'Friends', maxUses: 3, expiresAt: null }, token)
  })

  after(async () => {
    await browser?.close()
    await instance?.[Symbol.asyncDispose]()
  })

  for (const theme of ['light', 'dark'] as const) {
    for (const width of [360, 1280]) {
      it(`has nothing that axe finds and nothing wider than ${width} px in the ${theme} theme`, async () => {
        const faults: string[] = []
        const page = await openPage({ theme, width })
        for (const scene of outside) faults.push(...(await look(page, scene)))
        await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
        for (const scene of inside) faults.push(...(await look(page, scene)))

        expect(faults).to.deep.equal([])
        await page.context().close()
      })
    }
  }

  it('keeps the theme that was chosen, over a reload', async () => {
    const page = await openPage({ theme: 'light', width: 1280 })
    await page.goto(`${instance.origin}/login`)
    await steps.press(page, 'Switch to dark theme')

    await page.reload()

    await page.getByRole('button', { name: 'Switch to light theme' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).to.equal('dark')
    await page.context().close()
  })

  it('can be used with the keyboard alone', async () => {
    const page = await openPage({ theme: 'light', width: 1280 })
    await page.goto(`${instance.origin}/login`)
    await page.getByLabel('Username').focus()
    await page.keyboard.type(boss.username)
    await page.keyboard.press('Tab')
    await page.keyboard.type(boss.password)
    await page.keyboard.press('Enter')
    await steps.arriveHome(page)

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

  async function look(page: Page, scene: Scene): Promise<string[]> {
    await page.goto(instance.origin + scene.path)
    await steps.see(page, scene.ready)
    await scene.open?.(page)
    const found = (await page.evaluate(`${axe}; axe.run({ resultTypes: ['violations'] })`)) as AxeResults
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    return [
      ...found.violations.map(({ id, nodes }) => `${scene.name}: ${id} at ${nodes[0]?.target.join(' ')}`),
      ...(overflow > 0 ? [`${scene.name}: ${overflow} px too wide`] : []),
    ]
  }
})

type AxeResults = { violations: Array<{ id: string; nodes: Array<{ target: string[] }> }> }
