import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { listNewerApis } from '../../tools/browsers/newer-apis.ts'
import * as actions from './actions.ts'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const alice = { username: 'alice', password: 'a long password' }
const bert = { username: 'bert', password: 'a long password' }
const newerApis = [...listNewerApis()]
/** What pages of chat systems are known to have failed for. */
const newerOnes = ['URL.parse', 'AbortSignal.any', 'Object.groupBy', 'Array.toReversed', 'Iterator']

/** Takes away what has these names: `URL.parse` and what each URL has, `navigation` and what is below `Intl`. */
function removeApis(names: readonly string[]): void {
  // An owner goes after what it owns.
  for (const name of [...names].reverse()) {
    const path = name.split('.')
    const key = path.pop() ?? ''
    let owner: unknown = globalThis
    for (const part of path) owner = Reflect.get(Object(owner), part)
    for (const holder of [owner, Reflect.get(Object(owner), 'prototype')])
      if (holder) Reflect.deleteProperty(Object(holder), key)
  }
}

describe('older browsers', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('older'))
    const registered = await answered(postJson(instance, '/api/auth/register', alice))
    token = ((await registered.json()) as { token: string }).token
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })

  after(() => resources.disposeAsync())

  /** `faults`: what no part of the page has caught. */
  async function openWithout(names: readonly string[], path: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
    await context.addInitScript(removeApis, names)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.stack ?? error.message))
    await page.goto(instance.origin + path)
    return { page, faults }
  }

  async function openOverviewWithout(names: readonly string[]) {
    const opened = await openWithout(names, '/login')
    await opened.page.evaluate((kept) => localStorage.setItem('service_token', kept), token)
    await opened.page.goto(`${instance.origin}/admin`)
    return opened
  }

  it('that lack all that is newer go through registration, login and administration', async () => {
    const { page, faults } = await openWithout(newerApis, '/register')
    await actions.register(page, bert)
    await actions.logOut(page)
    await actions.logIn(page, alice)
    await actions.waitForHomePage(page)
    await page.goto(`${instance.origin}/admin`)
    await actions.waitForText(page, 'Registrations per day')
    await page.goto(`${instance.origin}/admin/invites`)
    await actions.click(page, 'New invite')
    await actions.fillField(page, 'Name', 'Old friends')
    await actions.clickInDialog(page, 'Create invite')
    await actions.clickInMenu(page, 'Old friends', shown('Used by: {name}', { name: 'Old friends' }))
    await actions.clickInDialog(page, 'Done')
    for (const path of ['/admin/users', '/admin/federation', '/admin/audit', '/admin/settings', '/settings/security']) {
      await page.goto(instance.origin + path)
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    }

    expect(faults).to.deep.equal([])
    const left = '[URL.parse, AbortSignal.any, Object.groupBy, globalThis.Iterator, [].values().map].find(Boolean)'
    expect(await page.evaluate(left)).to.equal(undefined)
    await page.context().close()
  })

  for (const name of newerOnes) {
    it(`that lack ${name} alone show the overview`, async () => {
      const { page, faults } = await openOverviewWithout([name])
      await actions.waitForText(page, 'Registrations per day')

      expect(faults).to.deep.equal([])
      await page.context().close()
    })
  }

  it('that lack what the pages need show that they fail: the control', async () => {
    const { page, faults } = await openOverviewWithout(['Intl.Segmenter'])
    await page.getByRole('heading', { name: shown('This page couldn’t be shown') }).waitFor()

    expect(faults.join()).to.include('Segmenter')
    await page.context().close()
  })

  const sentences = { 'en-US': 'Your browser is too old for this page.', 'de-AT': 'Dein Browser ist älter.' }
  const countSentences = (page: Page) => page.locator('.outdated:visible').count()

  for (const [locale, sentence] of Object.entries(sentences)) {
    it(`that are too old are told so, whatever becomes of the page, for ${locale}`, async () => {
      const { page } = await openWithout(['HTMLElement.popover'], '/no-such-page', { locale })
      await page.getByText(shownText(sentence)).waitFor()
      expect(await countSentences(page)).to.equal(1)

      await page.route('**/assets/index-*.js', (route) =>
        route.fulfill({ contentType: 'text/javascript', body: 'const syntax of the future' }),
      )
      await page.reload()
      await page.getByText(shownText(sentence)).waitFor()
      expect(await page.locator('#root').textContent()).to.equal('')
      await page.context().close()
    })
  }

  it('are those without popovers or subgrids, and no others', async () => {
    const { page } = await openWithout([], '/login')
    await actions.waitForText(page, 'Log in')
    expect(await countSentences(page)).to.equal(0)

    await page.addInitScript(() => {
      const supports = CSS.supports.bind(CSS)
      CSS.supports = (property: string, value: string = '') => value !== 'subgrid' && supports(property, value)
    })
    await page.reload()
    await page.getByText(sentences['en-US']).waitFor()
    await page.context().close()
  })

  describe('and any other, where a page fails while it is rendered', () => {
    /** Every page with an avatar fails until `mended` is stored. */
    function plantFault(): void {
      const { Segmenter } = Intl
      const get = () => {
        if (sessionStorage.getItem('mended')) return Segmenter
        throw new Error('a planted fault')
      }
      Object.defineProperty(Intl, 'Segmenter', { get })
    }

    async function logInToFaultyPages(locale: string) {
      const { page, faults } = await openWithout([], '/no-such-page', { locale })
      await page.addInitScript(plantFault)
      await page.goto(`${instance.origin}/login`)
      await page.locator('[name=username]').fill(alice.username)
      await page.locator('[name=password]').fill(alice.password)
      await page.keyboard.press('Enter')
      return { page, faults }
    }

    it('say so, name the place in the console, and show the page after a reload', async () => {
      const { page, faults } = await logInToFaultyPages('en-US')
      const heading = page.getByRole('heading', { name: shown('This page couldn’t be shown') })
      await heading.waitFor()
      expect(faults).to.have.length(1)
      expect(faults[0]).to.match(/a planted fault[^]*\/assets\/\S+\.js:\d+:\d+/)

      await page.evaluate(() => sessionStorage.setItem('mended', 'yes'))
      await actions.click(page, 'Reload')

      await actions.waitForHomePage(page)
      expect(await heading.count()).to.equal(0)
      await page.context().close()
    })

    it('let a person log out, in German too', async () => {
      const { page } = await logInToFaultyPages('de-DE')
      const keptToken = () => page.evaluate(() => localStorage.getItem('service_token'))
      await page.getByRole('heading', { name: 'Diese Seite ließ sich nicht anzeigen' }).waitFor()
      expect(await keptToken()).to.be.a('string')

      await actions.click(page, 'Abmelden')

      await page.waitForURL('**/login')
      await page.locator('[name=username]').waitFor()
      expect(await keptToken()).to.equal(null)
      await page.context().close()
    })
  })
})
