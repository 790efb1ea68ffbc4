import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { shown } from './shown.ts'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('the web app by keyboard, without motion, and on paper', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let token: string

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const reply = await answered(postJson(instance, '/api/auth/register', { username: 'alicia', password }))
    token = ((await reply.json()) as { token: string }).token
    await instance.runSql("update users set is_admin = true where username = 'alicia'")
  })

  after(() => resources.disposeAsync())

  it('registers, edits a profile and logs out with the keyboard only', async () => {
    const page = await actions.openPage(browser, instance, '/register')
    await page.getByLabel(shown('Username')).waitFor()
    for (const [label, text] of [
      ['Username', 'hilda'],
      ['Password', password],
      ['Confirm password', password],
    ] as const) {
      await tabTo(page, label)
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: shown('Your profile') }).waitFor()
    await page.locator('[name=avatar-color]:checked').focus()
    const color = await focusedName(page)
    await page.keyboard.press('ArrowRight')
    expect(await focusedName(page)).to.not.equal(color)
    await tabTo(page, 'Create account')
    await page.keyboard.press('Enter')
    await actions.waitForHomePage(page)

    await page.reload()
    await actions.waitForHomePage(page)
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    await tabTo(page, 'Skip to content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await focusedName(page)).to.equal('Edit profile')

    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    const inDialog = () => page.evaluate(() => !!document.activeElement?.closest('dialog, body:not(:focus-within)'))
    for (let presses = 0; presses < 25; presses += 1) {
      await page.keyboard.press('Tab')
      expect(await inDialog(), 'the focus stays in the dialog').to.equal(true)
    }
    const visible = page.getByRole('switch', { name: shown('Appear in search') })
    const before = await visible.getAttribute('aria-checked')
    await tabTo(page, 'Appear in search')
    await page.keyboard.press('Space')
    expect(await visible.getAttribute('aria-checked')).to.not.equal(before)
    await tabTo(page, 'Save')
    await page.keyboard.press('Enter')
    await actions.waitForText(page, 'Profile saved.')
    expect(await focusedName(page)).to.equal('Edit profile')

    await tabTo(page, 'Your account')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Log out')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: shown('Log in') }).waitFor()
    await page.context().close()
  })

  it('moves nothing for those who prefer reduced motion', async () => {
    const motion = async (reducedMotion: 'reduce' | 'no-preference') => {
      const context = await browser.newContext({ reducedMotion })
      const page = await context.newPage()
      await page.route('**/api/auth/login', () => new Promise<void>(() => undefined))
      await page.goto(`${instance.origin}/login`)
      await actions.logIn(page, { username: 'alicia', password })
      await page.locator('button[aria-busy=true] .spinner').waitFor()
      const found = await page.evaluate(() => ({
        endless: document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().iterations === Infinity)
          .length,
        transition: getComputedStyle(document.querySelector('button[type=submit]')!).transitionDuration.split(',')[0],
      }))
      await context.close()
      return found
    }

    expect(await motion('reduce')).to.deep.equal({ endless: 0, transition: '0s' })
    expect(await motion('no-preference')).to.deep.equal({ endless: 1, transition: '0.14s' })
  })

  it('shows avatars, the current page and what is on in the colors that a person forces', async () => {
    const page = await openMedia({ forcedColors: 'active' })
    const styleOf = (selector: string, property: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property)

    expect(await styleOf('.avatar', 'border-block-start-width')).to.equal('2px')
    expect(await styleOf('.nav-link[aria-current=page]', 'text-decoration-line')).to.equal('underline')
    expect(await styleOf('.nav-link:not([aria-current])', 'text-decoration-line')).to.equal('none')
    const background = await styleOf('body', 'background-color')
    expect(await styleOf('.status-dot--on', 'background-color')).to.not.equal(background)
    await actions.click(page, 'Edit profile')
    await page.getByRole('switch', { name: shown('Appear in search') }).click()
    const track = (on: boolean) => styleOf(`.switch[aria-checked=${on}] .switch__track`, 'background-color')
    expect(await track(true)).to.not.equal(await track(false))
    await page.context().close()
  })

  it('hides no focused field of a dialog behind its header and buttons at 400 % of 1280 × 1024', async () => {
    const page = await openMedia({ viewport: { width: 320, height: 256 } })
    await actions.click(page, 'Edit profile')
    const hidden: string[] = []
    for (const field of await page.locator('dialog[open] :is(input:not([type=file]), textarea, [role=switch])').all()) {
      await field.focus()
      const isSeen = await field.evaluate((element) => {
        const { left, top, width, height } = element.getBoundingClientRect()
        const at = document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 20))
        return !!at && (element.contains(at) || !!at.closest('label')?.contains(element))
      })
      if (!isSeen) hidden.push(await field.evaluate((element) => element.outerHTML.slice(0, 120)))
    }

    expect(hidden).to.deep.equal([])
    await page.context().close()
  })

  it('needs no scrolling to the side on phones with text of 200 %', async () => {
    const page = await openMedia({ viewport: { width: 390, height: 800 } })
    await page.evaluate(() => void (document.documentElement.style.fontSize = '200%'))
    const paths = ['/settings/profile', '/settings/security', '/settings/instances', '/admin/users', '/admin/settings']
    for (const path of paths) {
      await actions.follow(page, path)
      await page.locator('.card, .filters').first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      const overflow = () => document.documentElement.scrollWidth - document.body.clientWidth
      expect(await page.evaluate(overflow), path).to.equal(0)
    }
    await actions.follow(page, '/channels/@me')
    const button = await page
      .getByRole('button', { name: shown('Edit profile') })
      .first()
      .boundingBox()
    expect(button!.x + button!.width).to.be.below(await page.evaluate(() => document.body.clientWidth))
    await page.context().close()
  })

  it('prints no password, no link of an invite and no token', async () => {
    const page = await actions.openPage(browser, instance, { path: '/admin/invites', token })
    await actions.click(page, 'New invite')
    await actions.fillField(page, 'Name', 'Choir')
    await actions.clickInDialog(page, 'Create invite')
    const link = page.getByRole('textbox', { name: shown('Link for {name}', { name: 'Choir' }) })
    await link.waitFor()
    await page.emulateMedia({ media: 'print' })
    expect(await link.isVisible()).to.equal(false)
    await page.emulateMedia({ media: 'screen' })

    await answered(postJson(instance, '/api/auth/register', { username: 'bertha', password }))
    await page.goto(`${instance.origin}/admin/users`)
    await actions.clickInMenu(page, 'bertha', shown('Temporary password for {username}', { username: 'bertha' }))
    await actions.clickInDialog(page, 'Reset password')
    const temporary = page.getByTestId('temporary-password')
    await temporary.waitFor()
    await page.emulateMedia({ media: 'print' })
    expect(await temporary.isVisible()).to.equal(false)

    await page.goto(`${instance.origin}/api/docs`)
    const ownToken = page.getByLabel('Your token')
    expect(await ownToken.inputValue()).to.have.length.at.least(20)
    expect(await ownToken.isVisible()).to.equal(false)
    await page.context().close()
  })

  /** The first page of alicia. */
  async function openMedia(context: BrowserContextOptions): Promise<Page> {
    const page = await actions.openPage(browser, instance, { path: '/channels/@me', token, context })
    await actions.waitForHomePage(page)
    return page
  }
})

/** The name of what has the focus, as far as labels and texts tell it. */
function focusedName(page: Page): Promise<string> {
  return page.evaluate(() => {
    const focused = document.activeElement as HTMLInputElement | null
    const labelledBy = document.getElementById(focused?.getAttribute('aria-labelledby') ?? '')?.textContent
    const label = focused?.getAttribute('aria-label') ?? labelledBy ?? focused?.labels?.[0]?.textContent
    return (label ?? focused?.textContent ?? '').trim()
  })
}

/** Presses Tab until the control with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab')
    if ((await focusedName(page)) === name) return
  }
  throw new Error(`Tab does not reach “${name}”`)
}
