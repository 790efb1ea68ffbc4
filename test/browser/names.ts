import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

/** Names that got around the rules of the input: older rows, other instances. */
export const names = {
  'turns the line': 'evil \u202egnp.exe',
  'ends an isolation': '\u2069\u202eevil',
  'is written from right to left': 'שלום (admin) عالم',
  'has 200 marks on one letter': `Z${'\u0301'.repeat(200)}algo`,
  'starts with marks alone': '\u0301\u0301mark',
  'is a family of emoji': '👩‍👩‍👧‍👦 family',
  'is a flag of six characters': '🏴󠁧󠁢󠁥󠁮󠁧󠁿🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  'is wide': 'W'.repeat(32),
  'is long without a space': 'abcdefghij'.repeat(12),
  'is a script': '<script>window.executed = true</script>',
  'is an image that cannot be loaded': '<img src=x onerror="window.executed = true">',
  'is invisible': '\u200b\u2060\u3164',
  'has a thousand years of ideographs': '鑫'.repeat(40),
}

const initials: Record<string, string> = {
  'turns the line': 'e',
  'ends an isolation': 'e',
  'has 200 marks on one letter': `Z${'\u0301'.repeat(4)}`,
  'starts with marks alone': 'm',
  'is a family of emoji': '👩‍👩‍👧‍👦',
  'is a flag of six characters': '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  'is invisible': '',
}

/** Registers the tests with these names, by their kind. */
export function testNames(chosen: Record<string, string>): void {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let page: Page

  before(async () => {
    instance = resources.use(await startInstance('names'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const reply = await postJson(instance, '/api/auth/register', { username: 'alice', password })
    const { token } = (await reply.json()) as { token: string }
    for (const [index, name] of Object.values(chosen).entries()) {
      const username = index === 0 ? `${'long_name'.repeat(10)}@${'far-away.'.repeat(12)}example` : `user_${index}`
      await instance.runSql(
        `insert into users (id, username, password_hash, display_name, custom_status, bio, home_instance, created_at)
         select ?, ?, 'none', ?, ?, ?, ?, now()`,
        [1000 + index, username, name, name, name, index === 0 ? `${'far-away.'.repeat(12)}example` : null],
      )
      await answered(
        postJson(instance, '/api/admin/invites', { name: `i${index}`, maxUses: 3, expiresAt: null }, token),
      )
      await instance.runSql('update invites set name = ? where name = ?', [name, `i${index}`])
      await instance.runSql(
        `insert into peers (id, origin, host, secret, status, activated_at, instance_name)
         values (?, ?, ?, 'none', 'active', now(), ?)`,
        [index + 1, `https://p${index}.example`, `p${index}.example`, name],
      )
    }
    page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
  })

  afterEach(async () => {
    expect(await page.evaluate('window.executed'), 'nothing of a name runs').to.equal(undefined)
  })

  after(() => resources.disposeAsync())

  for (const [path, ready] of [
    ['/admin/users', shown('{count} accounts', { count: Object.keys(chosen).length + 1 })],
    ['/admin/invites', shown('{used} of {max} uses', { used: 0, max: 3 })],
    ['/admin/federation', 'p1.example'],
    ['/admin/audit', 'Download (JSON Lines)'],
  ] as const) {
    it(`stay inside their place on ${path}`, async () => {
      await page.goto(instance.origin + path)
      await page.getByText(shownText(ready)).first().waitFor()

      await expectNothingOverflows()
    })
  }

  it('stay inside the dialogs that name them', async () => {
    await page.goto(`${instance.origin}/admin/invites`)
    for (let row = 0; row < Object.keys(chosen).length; row += 1) {
      await page
        .getByRole('button', { name: /^Actions for/ })
        .nth(row)
        .click()
      await page.getByRole('button', { name: /^Delete/ }).click()
      await page.getByRole('dialog').waitFor()
      await expectNothingOverflows()
      await actions.clickInDialog(page, 'Cancel')
    }
  })

  it('stay inside the own page', async () => {
    for (const [kind, name] of Object.entries(chosen)) {
      await instance.runSql("update users set display_name = ?, custom_status = ?, bio = ? where username = 'alice'", [
        name,
        name,
        `${name}\n${name}`,
      ])
      await page.goto(`${instance.origin}/channels/@me`)
      await page.getByText(shown('Next steps')).waitFor()
      await expectNothingOverflows(kind)

      const initial = initials[kind]
      if (initial !== undefined) expect(await page.locator('.profile .avatar').textContent(), kind).to.equal(initial)
    }
  })

  it('stay inside the login page as the name of an instance', async () => {
    const visitor = page
    page = await (await browser.newContext()).newPage()
    for (const [kind, name] of Object.entries(chosen)) {
      await instance.runSql('update instance_settings set instance_name = ?', [name])
      await page.goto(`${instance.origin}/login`)
      await page.getByText('Welcome back to').waitFor()
      await expectNothingOverflows(kind)
    }
    page = visitor
  })

  it('leave the words around them where they are', async () => {
    await page.goto(`${instance.origin}/admin/audit`)
    await page.locator('.audit-entry').first().waitFor()

    const order = await page.evaluate(() => {
      const entry = document.querySelector('.audit-entry > span')
      return [...(entry?.querySelectorAll('bdi') ?? [])].map((name) => getComputedStyle(name).unicodeBidi)
    })

    expect(order).to.deep.equal(['isolate', 'isolate'])
    for (const name of Object.values(chosen)) {
      const shown = (await page.locator('bdi').allTextContents()).join('')
      expect(shown, name).not.to.match(/[\u202a-\u202e\u2066-\u2069]/)
    }
  })

  /** On a wide screen and on a phone: no text is wider than its box, and the page is as wide as the window. */
  async function expectNothingOverflows(kind = ''): Promise<void> {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 })
      expect(await page.evaluate(findOverflow), `${kind} at ${width}px`).to.deep.equal([])
    }
  }
}

function findOverflow(): string[] {
  const scrolled = '.tabs, .tabs *, .header__nav, input, select, .visually-hidden, .visually-hidden *, svg, svg *'
  const wide = [...document.querySelectorAll<HTMLElement>('body, body *')].filter((element) => {
    if (element.matches(scrolled) || element.closest('.header__log-out')) return false
    const box = element.getBoundingClientRect()
    const isBlock = !['inline', 'contents', 'none'].includes(getComputedStyle(element).display)
    return (isBlock && element.scrollWidth > element.clientWidth + 2) || box.right > innerWidth + 1
  })
  return wide.map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`)
}
