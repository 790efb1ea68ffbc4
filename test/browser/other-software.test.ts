import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import sharp from 'sharp'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('what other software does to the pages', function () {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
  })
  after(() => resources.disposeAsync())

  const openPage = (path: string, context = {}, token?: string) =>
    actions.openPage(browser, instance, { path, context, ...(token && { token }) })
  const openTranslated = (path: string) =>
    actions.openPage(browser, instance, { path, prepare: (context) => context.addInitScript(translatePage) })
  async function register(username: string): Promise<string> {
    const reply = await answered(postJson(instance, '/api/auth/register', { username, password }))
    return ((await reply.json()) as { token: string }).token
  }
  async function openProfile(username: string, init = () => {}) {
    const token = await register(username)
    const prepare = (context: BrowserContext) => context.addInitScript(init)
    const page = await actions.openPage(browser, instance, { path: '/settings/profile', token, prepare })
    await actions.click(page, 'Edit profile')
    return { page, token }
  }
  async function readAvatar(token: string) {
    const headers = { authorization: `Bearer ${token}` }
    const at = (path: string) => fetch(`http://127.0.0.1:${instance.port}/api${path}`, { headers })
    const { avatar } = (await (await at('/users/@me')).json()) as { avatar: string }
    const image = sharp(await (await at(`/uploads/${avatar}`)).bytes())
    const { width } = await image.metadata()
    const colorAt = async (x: number) => {
      const region = { left: Math.round(x * width), top: 0, width: Math.round(width * 0.3), height: width }
      return [...(await image.clone().extract(region).resize(1, 1).raw().toBuffer())]
    }
    const [left, right] = [await colorAt(0), await colorAt(0.7)]
    return { side: width, isLeftRed: left[0]! > 200, isRightBlue: right[2]! > 200 }
  }
  const chooseLanguage = (page: Page, language: string) => page.locator('#language').selectOption(language)
  /** Does something that puts one text in the place of another. */
  const changeTo = async (page: Page, before: string | RegExp, after: string, act: () => Promise<unknown>) => {
    await actions.waitForText(page, before)
    await act()
    await actions.waitForText(page, after)
    expect(await page.getByText(shownText(before)).filter({ visible: true }).allInnerTexts()).to.deep.equal([])
  }
  /** As password managers do that tell the page nothing. */
  const fillWithoutEvent = async (page: Page, fields: Record<string, string>) => {
    for (const [name, text] of Object.entries(fields)) {
      const setValue = (field: HTMLInputElement, value: string) => void (field.value = value)
      await page.locator(`input[name=${name}]`).evaluate(setValue, text)
    }
  }

  it('a password manager that fills in the login without an event logs in', async () => {
    await answered(postJson(instance, '/api/auth/register', { username: 'filled_in', password }))
    const page = await openPage('/login')
    await fillWithoutEvent(page, { username: 'filled_in', password: 'not the password' })
    await actions.click(page, 'Log in')
    await actions.waitForText(page, 'Wrong username or password.')

    await fillWithoutEvent(page, { password })
    await actions.click(page, 'Log in')

    await actions.waitForHomePage(page)
    await page.context().close()
  })

  it('a password manager that fills in the registration without an event registers, and what is missing is still said', async () => {
    const page = await openPage('/register')
    await actions.click(page, 'Continue')
    await actions.waitForText(page, 'Use 3 to 32 characters.')
    await fillWithoutEvent(page, { username: 'filled_anew', password })
    await actions.click(page, 'Continue')
    await page.locator('[name=confirmation]').and(page.locator('[aria-invalid=true]')).waitFor()

    await fillWithoutEvent(page, { confirmation: password })
    await actions.click(page, 'Continue')

    await page.getByRole('heading', { name: shown('Your profile') }).waitFor()
    await page.context().close()
  })

  it('a password manager that fills in the whole registration at once without an event registers', async () => {
    const page = await openPage('/register')
    await fillWithoutEvent(page, { username: 'filled_at_once', password, confirmation: password })
    await actions.click(page, 'Continue')

    await page.getByRole('heading', { name: shown('Your profile') }).waitFor()
    await page.context().close()
  })

  it('a translation of the page hides no change of a text: faults, labels, the language, errors, toasts', async () => {
    const page = await openTranslated('/register')
    await changeTo(page, 'to 32 lowercase letters', 'Use 3 to 32 characters.', async () => {
      await actions.fillField(page, 'Username', 'ab')
      await actions.click(page, 'Continue')
    })
    await actions.click(page, 'Show Password')
    await actions.waitForText(page, /^Hide$/)
    await changeTo(page, /^Use 3 to 32/, shown('{username} is available.', { username: 'translated' }), () =>
      actions.fillField(page, 'Username', 'translated'),
    )
    await changeTo(page, 'Confirm password', 'Passwort bestätigen', () => chooseLanguage(page, 'de'))
    await changeTo(page, 'Passwort bestätigen', 'Confirm password', () => chooseLanguage(page, 'en'))
    await actions.register(page, { username: 'translated', password })
    await actions.openSettings(page, 'profile')
    await actions.click(page, 'Edit profile')
    await actions.fillField(page, 'Display name', 'Another name')
    await actions.clickInDialog(page, 'Save')
    await actions.waitForText(page, 'Profile saved.')
    await actions.waitForText(page, 'Another name')
    await actions.openSettings(page, 'security')
    await actions.fillField(page, 'Current password', 'not the password')
    await actions.fillField(page, 'New password', 'a longer password')
    await actions.fillField(page, 'Confirm new password', 'a longer passwor')
    await actions.click(page, 'Change password')
    await actions.waitForText(page, 'The passwords don’t match.')
    await changeTo(page, 'The passwords don’t match.', 'The passwords match.', () =>
      actions.fillField(page, 'Confirm new password', 'a longer password'),
    )
    await actions.click(page, 'Change password')
    await actions.waitForText(page, 'Wrong password.')
    expect(await page.locator('font font').count()).to.be.above(10)
    expect(await page.locator('[translate=no] font').count(), 'of names that people chose').to.equal(0)
    await page.context().close()
  })

  it('a browser that gives noise for a canvas has its picture cut by the server, and another one cuts it itself', async () => {
    const halves = await sharp({ create: { width: 200, height: 100, channels: 3, background: 'red' } })
      .composite([
        { input: { create: { width: 100, height: 100, channels: 3, background: 'blue' } }, left: 100, top: 0 },
      ])
      .png()
      .toBuffer()
    const readable = await openProfile('readable')
    const noisy = await openProfile('noisy', giveNoise)
    for (const { page } of [readable, noisy]) {
      await page.locator('#avatar-file').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: halves })
      await actions.click(page, 'Use this image')
      await actions.clickInDialog(page, 'Save')
      await actions.waitForText(page, 'Profile saved.')
    }

    const cut = { isLeftRed: true, isRightBlue: true }
    expect(await readAvatar(readable.token)).to.deep.equal({ side: 512, ...cut })
    expect(await readAvatar(noisy.token)).to.deep.equal({ side: 100, ...cut })
    for (const { page } of [readable, noisy]) await page.context().close()
  })

  it('another address than the public one is named to admins, with what works only at that', async () => {
    const token = await register('elsewhere')
    await instance.runSql("update users set is_admin = true where username = 'elsewhere'")
    const notice = (page: Page) => page.getByText('(PUBLIC_ORIGIN)').allInnerTexts()
    const here = `http://127.0.0.1:${instance.port}`
    const elsewhere = await actions.openPage(browser, { ...instance, origin: here }, { path: '/admin', token })
    const page = await openPage('/admin', {}, token)
    for (const opened of [elsewhere, page]) await actions.waitForText(opened, 'Registrations per day')

    expect(await notice(page)).to.deep.equal([])
    expect(await notice(elsewhere)).to.deep.equal([
      `You opened this instance at ${here}, but its address is ${instance.origin} (PUBLIC_ORIGIN). ` +
        'Invite and password reset links lead there, and passkeys work only there.',
    ])
    await Promise.all([elsewhere.context().close(), page.context().close()])
  })

  it('a page that comes back from the back/forward cache knows of the logout, and of the other login, meanwhile', async () => {
    const [first, second] = [await register('back_one'), await register('back_two')]
    const page = await openPage('/settings/profile', {}, first)
    const comeBackWith = (token: string) =>
      page.evaluate((kept) => {
        localStorage.setItem('service_token', kept)
        if (!kept) localStorage.removeItem('service_token')
        dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
      }, token)
    await actions.waitForText(page, '@back_one')

    await comeBackWith(second)
    await actions.waitForText(page, '@back_two')
    await comeBackWith('')

    await actions.waitForText(page, 'Logged out in this browser.')
    await page.context().close()
  })

  it('storage that the browser refuses leaves everything to work until a reload', async () => {
    const faults: string[] = []
    const refuse = () => {
      throw new DOMException('refused', 'SecurityError')
    }
    const page = await actions.openPage(browser, instance, {
      path: '/register',
      prepare: (context) =>
        context.addInitScript(`Object.defineProperty(window, 'localStorage', { get: ${String(refuse)} })`),
    })
    page.on('pageerror', ({ message }) => faults.push(message))
    await actions.register(page, { username: 'no_storage', password })
    for (const language of ['de', 'en']) await chooseLanguage(page, language)
    await actions.click(page, /^Switch to .* theme$/)
    await actions.openSettings(page, 'profile')
    await actions.click(page, 'Edit profile')
    await actions.fillField(page, 'Display name', 'Still here')
    await actions.clickInDialog(page, 'Save')

    await actions.waitForText(page, 'Profile saved.')
    expect(await actions.pathAfterReload(page)).to.equal('/login')
    expect(faults).to.deep.equal([])
    await page.context().close()
  })

  it('storage that is emptied in mid-session ends it at the next act, and a login leads back', async () => {
    const page = await openPage('/settings/profile', {}, await register('emptied'))
    await actions.waitForText(page, '@emptied')
    await page.evaluate(() => localStorage.clear())

    await actions.click(page, 'Edit profile')
    await actions.waitForText(page, 'Logged out in this browser.')
    await actions.logIn(page, { username: 'emptied', password })

    await page.waitForURL('**/settings/profile')
    await page.context().close()
  })

  it('a clock that is wrong by a day ends no session', async () => {
    for (const days of [-1, 1]) {
      const token = await register(`clock_${days + 1}`)
      const setClock = (context: BrowserContext) => context.clock.setSystemTime(Date.now() + days * 86_400_000)
      const page = await actions.openPage(browser, instance, { path: '/channels/@me', token, prepare: setClock })
      await actions.waitForText(page, 'Connected')
      expect(Math.round(((await page.evaluate(() => Date.now())) - Date.now()) / 86_400_000)).to.equal(days)

      expect(await actions.pathAfterReload(page)).to.equal('/channels/@me')
      await page.context().close()
    }
  })

  it('a phone finds no field that it has to zoom in on', async () => {
    const small = async (page: Page) =>
      await page.evaluate(
        () =>
          [...document.querySelectorAll('input, select, textarea')].filter(
            (field) => parseFloat(getComputedStyle(field).fontSize) < 16,
          ).length,
      )
    for (const path of ['/login', '/register']) {
      const phone = await openPage(path, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })
      const desk = await openPage(path)
      for (const page of [phone, desk]) await page.locator('[name=username]').waitFor()
      expect([await small(phone), (await small(desk)) > 0], path).to.deep.equal([0, true])
      await Promise.all([phone.context().close(), desk.context().close()])
    }
  })
})

/** As browsers do that translate: each text node gives its place to elements with another. The words stay, so that tests find them. */
function translatePage(): void {
  const translate = (root: Node) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
    const texts: Text[] = []
    while (walker.nextNode()) texts.push(walker.currentNode as Text)
    for (const text of texts) {
      if (!text.data.trim() || text.parentElement?.closest('font, script, style, [translate=no]')) continue
      const translation = document.createElement('template')
      translation.innerHTML = '<font><font></font></font>'
      translation.content.querySelector('font font')!.textContent = text.data
      text.replaceWith(translation.content)
    }
  }
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) for (const node of [target, ...addedNodes]) translate(node)
  }).observe(document, { childList: true, characterData: true, subtree: true })
}

/** As browsers do that resist fingerprinting, whatever is on the canvas. */
function giveNoise(): void {
  const drawNoise = (canvas: HTMLCanvasElement) => {
    const context = canvas.getContext('2d')!
    for (let x = 0; x < canvas.width; x += 4) {
      context.fillStyle = `rgb(${Math.random() * 255} ${Math.random() * 255} ${Math.random() * 255})`
      context.fillRect(x, 0, 4, canvas.height)
    }
  }
  const { toBlob } = HTMLCanvasElement.prototype
  HTMLCanvasElement.prototype.toBlob = function (...given) {
    drawNoise(this)
    toBlob.apply(this, given)
  }
  const { getImageData } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.getImageData = function (...given: [number, number, number, number]) {
    drawNoise(this.canvas)
    return getImageData.apply(this, given)
  }
}
