import { eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { goodCode, type DialogCase } from './dialog-cases.ts'
import { password, startFilledInstance, type FilledInstance } from './filled-instance.ts'
import { shown, shownText } from './shown.ts'

const typed = 'my pass'
/** Faster than the role, which is computed of every element. */
const openDialog = 'dialog[open]'

/** What is answered, so that the next dialog opens. */
const answers: Record<string, object> = {
  '/recovery-link': { url: 'https://dialogs.example/recover#1.x', expiresAt: 1 },
  '/suspend': {},
  '/reset-password': { temporaryPassword: 'for a day' },
  '/second-factor': { secret: 'A'.repeat(32), otpauthUri: 'otpauth://totp/dialogs:alice' },
  '/secret': { clientSecret: 'b'.repeat(43) },
  '/confirm': { recoveryCodes: ['abcdefghjk', 'mnpqrstuvw'] },
}

/** `changes`: the paths that the current test sent anything to. */
export type DialogWalk = { instance: FilledInstance; page: Page; changes: string[] }

/** Alice's page, for the tests of a `describe`. Nothing that a key could set off reaches the instance. */
export function prepareDialogs(name: string): DialogWalk {
  const resources = new AsyncDisposableStack()
  const walk = { changes: [] as string[] } as DialogWalk

  before(async () => {
    walk.instance = resources.use(await startFilledInstance(name))
    const browser = await launchChromium()
    resources.defer(() => browser.close())
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    await addAxe(context)
    walk.page = await context.newPage()
    const { token, aliceId } = walk.instance
    const remote = { origin: 'https://b.example', username: 'alice', token: null, pendingPasswordSync: true }
    await walk.page.addInitScript(
      ([storedToken, remotes]) => {
        localStorage.setItem('service_token', storedToken)
        localStorage.setItem('service_remotes', remotes)
      },
      [token, JSON.stringify({ userId: aliceId, remotes: [remote] })] as const,
    )
    await answerChanges(walk)
  })

  beforeEach(() => {
    walk.changes = []
  })

  // What a failed test leaves open would fail the others.
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await walk.page.goto('about:blank')
  })

  after(() => resources.disposeAsync())

  return walk
}

async function answerChanges(walk: DialogWalk): Promise<void> {
  await walk.page.route('**/api/**', (route) => {
    const request = route.request()
    if (request.method() === 'GET') return route.continue()
    const ending = /\/[^/]*$/.exec(request.url())?.[0] ?? ''
    const needed = { '/second-factor': password, '/confirm': goodCode, '/suspend': '"reason":""' }[ending] ?? ''
    const isRight = needed === '' || request.postData()?.includes(needed)
    if (ending in answers && isRight) return route.fulfill({ json: answers[ending] })
    walk.changes.push(new URL(request.url()).pathname)
    return route.abort()
  })
}

/** Registers the tests of one dialog. */
export function testDialog(walk: DialogWalk, entry: DialogCase): void {
  const { component, opener, menu = opener, first, takesText, openerAfter = menu } = entry
  it(`${component} by “${opener}” focuses “${first}”, keeps the focus inside, gives it back, and has no axe violation, no unclear name and no horizontal overflow`, async () => {
    await openByKeyboard(walk, entry)
    await expectFocus(walk, first)
    expect(await findFaultsOfDialog(walk)).to.deep.equal([])

    await tabOnceAround(walk)
    await walk.page.keyboard.press('Escape')

    await expectClosed(walk, openerAfter)
    expect(walk.changes).to.deep.equal([])
  })

  if (takesText) {
    it(`${component} by “${opener}” takes what is typed, asks before it drops it, and stays open when Enter could not send it`, async () => {
      await openByKeyboard(walk, entry)
      await typeAndKeep(walk)
      await sendWhatIsRefused(walk)
      await expectClosed(walk, openerAfter)
    })
  } else if (first === 'Cancel' || first === 'Done') {
    it(`${component} by “${opener}” does nothing on the space of somebody who types, nor on Enter`, async () => {
      await openByKeyboard(walk, entry)
      await walk.page.keyboard.type(typed.slice(0, 3))
      await expectClosed(walk, openerAfter)
      await openByKeyboard(walk, entry)
      await walk.page.keyboard.press('Enter')
      await expectClosed(walk, openerAfter)
      expect(walk.changes).to.deep.equal([])
    })
  }
}

/** Types into the field that has the focus, and leaves the dialog in each way, which must ask. */
async function typeAndKeep(walk: DialogWalk): Promise<void> {
  const { page } = walk
  const field = page.locator(`#${await page.evaluate(() => document.activeElement?.id)}`)
  const before = await field.inputValue()
  await page.keyboard.type(typed)
  expect(await field.inputValue()).to.equal(before + typed)

  for (const leave of [
    () => page.keyboard.press('Escape'),
    () => page.keyboard.press('Escape'),
    () => pressButton(walk, 'Cancel'),
    () => pressButton(walk, 'Close'),
  ]) {
    await leave()
    await question(walk).waitFor()
    await expectFocus(walk, 'Keep editing')
    await page.keyboard.press('Escape')
    await question(walk).waitFor({ state: 'detached' })
    expect(await isFocusInside(page)).to.equal(true)
  }
  expect(await field.inputValue()).to.equal(before + typed)
  expect(walk.changes).to.deep.equal([])
  await field.focus()
}

/** Sends the form, whose answer leaves the dialog open, and discards what was typed. */
async function sendWhatIsRefused(walk: DialogWalk): Promise<void> {
  const { page } = walk
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').locator('[aria-invalid=true], .form-message--error .icon').first().waitFor()

  const changesBefore = [...walk.changes]
  await page.keyboard.press('Escape')
  await page.keyboard.press('Tab')
  await expectFocus(walk, 'Discard')
  await page.keyboard.press('Enter')
  await page.locator(openDialog).waitFor({ state: 'detached' })
  expect(walk.changes).to.deep.equal(changesBefore)
}

export async function openByKeyboard({ instance, page }: DialogWalk, entry: DialogCase): Promise<void> {
  const { component, path, opener, menu, hasSecondFactor } = entry
  if (hasSecondFactor !== undefined)
    await instance.runSql("update users set second_factor = ? where username = 'alice'", [hasSecondFactor])
  const button = (name: string) => page.getByRole('button', { name: shownText(name), exact: true, disabled: false })
  const isShown = page.url() === instance.origin + path && (await button(menu ?? opener).count()) > 0
  if (!isShown) await page.goto(instance.origin + path)
  if (opener === shown('Reinstate {name}', { name: 'Old' })) await actions.click(page, 'Inactive')
  else if (path === '/admin/invites') await actions.click(page, 'Active')
  for (const name of menu ? [menu, opener] : [opener]) {
    await button(name).focus()
    await page.keyboard.press('Enter')
  }
  await page.locator(openDialog).waitFor()
  await entry.open?.(page)
  await page.locator(`dialog[data-dialog=${component}]`).waitFor()
}

/** Presses Tab until the focus is back where it was. */
async function tabOnceAround({ page }: DialogWalk): Promise<void> {
  const start = await page.evaluateHandle(() => document.activeElement)
  let presses = 0
  let isBack = false
  do {
    await page.keyboard.press('Tab')
    const [isInside, isStart] = await start.evaluate((element, inside) => {
      const focused = document.activeElement
      return [!!focused?.closest(inside), focused === element]
    }, focusInside)
    expect(isInside, 'the focus stays in the dialog').to.equal(true)
    isBack = isStart
    presses += 1
  } while (!isBack && presses < 60)
  expect(presses, 'the focus comes back').to.be.within(2, 59)
}

/** Of the open dialog, in both looks. */
export const findFaultsOfDialog = ({ page }: DialogWalk) => findFaults(page, { within: openDialog })

export async function expectFocus({ page }: DialogWalk, name: string): Promise<void> {
  await eventually(`“${name}” has the focus`, async () => {
    expect(await focusedName(page), page.url()).to.equal(name)
    return true
  })
}

export async function expectClosed(walk: DialogWalk, opener: string): Promise<void> {
  await walk.page.locator(openDialog).waitFor({ state: 'detached' })
  await expectFocus(walk, opener)
}

export const question = ({ page }: DialogWalk) => page.getByRole('dialog', { name: shown('Discard unsaved changes?') })

export async function pressButton({ page }: DialogWalk, name: string): Promise<void> {
  await page
    .getByRole('dialog')
    .getByRole('button', { name: shownText(name), exact: true })
    .focus()
  await page.keyboard.press('Enter')
}

/** Tab may leave a modal dialog for the browser's own controls, and for nothing else of the page. */
const focusInside = 'dialog, body:not(:focus-within)'

function isFocusInside(page: Page): Promise<boolean> {
  return page.evaluate((inside) => !!document.activeElement?.closest(inside), focusInside)
}

/** The name of what has the focus, as far as labels and texts tell it. */
function focusedName(page: Page): Promise<string> {
  return page.evaluate(() => {
    const focused = document.activeElement as HTMLInputElement
    const labelledBy = document.getElementById(focused.getAttribute('aria-labelledby') ?? '')?.textContent
    const label = focused.getAttribute('aria-label') ?? labelledBy ?? focused.labels?.[0]?.textContent
    return (label ?? focused.textContent).replace('(optional)', '').trim()
  })
}
