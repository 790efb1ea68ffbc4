import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import german from '../../services/web/src/language/german.json' with { type: 'json' }
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

type Text = keyof typeof german.texts
/** `ready` is shown once the page has loaded; `open`: what to open then. */
type Target = { path: string; ready: string; open?: (page: Page) => Promise<void> }

const password = 'a long password'
const accents = 'áƀćđéƒǵĥíĵķĺɱńóƥɋŕśţúṽŵẋýž'

/** A text of a language that is not there: accented, a third longer, in brackets; its places stay. */
function pseudo(text: string): string {
  let letters = 0
  const long = text.replace(/\{\w+\}|[a-z]/gi, (found) => {
    if (found.length > 1) return found
    const small = accents.charAt(found.toLowerCase().charCodeAt(0) - 97)
    const accented = found === found.toLowerCase() ? small : small.toUpperCase()
    return ++letters % 3 === 0 ? accented + small : accented
  })
  return `⟦${long}⟧`
}

const say = (text: Text) => pseudo(text)

function pseudoCatalogue(): string {
  const { texts, answers, refusals } = german
  const fromKeys = (part: object) => Object.fromEntries(Object.keys(part).map((text) => [text, pseudo(text)]))
  const catalogue = {
    direction: 'rtl',
    texts: fromKeys(texts),
    answers: fromKeys(answers),
    refusals: fromKeys(refusals),
  }
  return `export default ${JSON.stringify(catalogue)}`
}

export const publicPages: Target[] = [
  { path: '/login', ready: say('Create an account') },
  { path: '/register', ready: say('Continue') },
  {
    path: '/register',
    ready: say('Continue'),
    open: async (page) => {
      await page.locator('input[name=username]').fill('dora')
      for (const field of await page.locator('input[type=password]').all()) await field.fill(password)
      await actions.click(page, say('Continue'))
      await page.getByRole('button', { name: say('Send registration') }).waitFor()
    },
  },
  { path: '/recover#1.x', ready: say('Confirm new password') },
  { path: '/sign-in#error=cancelled', ready: say('The login was canceled.') },
  { path: '/no-such-page', ready: say('Page not found') },
]

export const accountPages: Target[] = [
  { path: '/channels/@me', ready: say('Online') },
  { path: '/channels/@me', ready: say('Online'), open: (page) => actions.click(page, say('Your account')) },
  { path: '/settings/profile', ready: say('Edit profile') },
  { path: '/settings/profile', ready: say('Edit profile'), open: (page) => actions.click(page, say('Edit profile')) },
  { path: '/settings/security', ready: say('No passkeys yet.') },
  { path: '/settings/sessions', ready: say('This tab') },
  { path: '/settings/instances', ready: say('No connected instances yet. Connect to one to use your account there.') },
  { path: '/settings/applications', ready: 'Friends' },
  { path: '/settings/data', ready: say('Download') },
  { path: '/settings/leave', ready: say('Delete account') },
  { path: '/settings/leave', ready: say('Delete account'), open: (page) => actions.click(page, say('Delete account')) },
  { path: '/admin', ready: say('Registrations per day') },
  { path: '/admin/users', ready: '@bert' },
  {
    path: '/admin/users',
    ready: '@bert',
    open: async (page) => {
      await page.getByRole('link', { name: '@bert' }).click()
      await page.getByRole('heading', { name: say('Recent activity') }).waitFor()
    },
  },
  { path: '/admin/registrations', ready: '192.0.2.1' },
  { path: '/admin/registrations', ready: '192.0.2.1', open: (page) => actions.click(page, say('Select all')) },
  { path: '/admin/invites', ready: 'Friends' },
  { path: '/admin/applications', ready: 'Friends' },
  { path: '/admin/audit', ready: 'alice' },
  { path: '/device', ready: say('Connect a device') },
  { path: '/admin/federation', ready: 'b.example' },
  { path: '/admin/settings', ready: say('Who can register') },
]

/** Registers the tests, with pages of nobody and pages of alice, the admin. */
export function testLanguage(ofNobody: readonly Target[], ofAlice: readonly Target[]): void {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let page: Page
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('languages'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const reply = await postJson(instance, '/api/auth/register', { username: 'alice', password })
    token = ((await reply.json()) as { token: string }).token
    await answered(postJson(instance, '/api/auth/register', { username: 'bert', password }))
    await instance.addFriendship('alice', 'bert')
    await instance.runSql(
      `insert into peers (id, origin, host, secret, status, activated_at)
       values (1, 'https://b.example', 'b.example', 'none', 'active', now())`,
    )
    await answered(postJson(instance, '/api/admin/invites', { name: 'Friends', maxUses: 3, expiresAt: null }, token))
    await instance.runSql(
      `insert into registrations (id, receipt_hash, created_at, username, network) values (1, 'one', now(), 'd', '192.0.2.1')`,
    )
    await instance.runSql(
      `insert into applications (id, name, type, redirect_uris, post_logout_redirect_uris, skip_consent, access_tokens, created_at)
       values (1, 'Friends', 'confidential', '["https://wiki.example/cb"]', '[]', false, 'opaque', now())`,
    )
    await instance.runSql(
      `insert into application_consents (account_id, application_id, scopes, granted_at)
       select id, 1, '["openid"]', now() from users where username = 'alice'`,
    )
    await instance.runSql('update instance_settings set approval_required = true')
    page = await (await browser.newContext({ locale: 'de', reducedMotion: 'reduce' })).newPage()
    await page.route('**/assets/german-*.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: pseudoCatalogue() }),
    )
  })

  after(() => resources.disposeAsync())

  it('is everywhere: no text bypasses the catalogue, is clipped or makes the page wider than the window', async () => {
    const faults = new Set<string>()
    for (const target of ofNobody) for (const fault of await findFaultsOf(target)) faults.add(fault)
    await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
    for (const target of ofAlice) for (const fault of await findFaultsOf(target)) faults.add(fault)

    expect([...faults]).to.deep.equal([])
    expect(await page.evaluate(() => [document.documentElement.lang, document.documentElement.dir])).to.deep.equal([
      'de',
      'rtl',
    ])
  })

  it('would show a text that is clipped or bypasses the catalogue, and a page that is too wide', async () => {
    await page.setViewportSize({ width: 390, height: 800 })
    await show({ path: '/no-such-page', ready: say('Page not found') })
    expect(await findFaults(page)).to.deep.equal([])
    await page.evaluate((text) => {
      const add = (words: string, style: Partial<CSSStyleDeclaration>) => {
        const added = document.body.appendChild(document.createElement('p'))
        added.append(words)
        Object.assign(added.style, style)
      }
      add('Bypassed', {})
      add(text, { width: '20px', overflow: 'hidden', whiteSpace: 'nowrap' })
      add(text, { width: '500px' })
    }, say('Page not found'))

    expect(await findFaults(page)).to.have.members([
      'untranslated: Bypassed',
      `clipped: ${say('Page not found')}`,
      `out of its box: ${say('Page not found')}`,
      'a horizontal scroll bar: html',
    ])
  })

  async function show({ path, ready, open }: Target): Promise<void> {
    if (page.url() !== instance.origin + path) await page.goto(instance.origin + path)
    await actions.waitForText(page, ready)
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    await open?.(page)
  }

  async function findFaultsOf(target: Target): Promise<string[]> {
    await show(target)
    const faults: string[] = []
    for (const width of [1366, 390]) {
      await page.setViewportSize({ width, height: 800 })
      for (const fault of await findFaults(page)) faults.push(`${target.path} at ${width}: ${fault}`)
    }
    return faults
  }
}

/** In what is visible. */
function findFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const kept = [
      /^Gatehouse$/, // the brand
      /^(English|Deutsch)$/, // languages by their own names
      /^@?(alice|bert|dora|Friends|a|b|d)$/, // names that people chose, and their initials
      /^(https?:\/\/)?(languages\.localhost|[a-z]+\.example)(:\d+)?(\/\S*)?$/, // addresses
      /^\d+\. \p{L}+ \d{4}$|^vor \d+ \p{L}+$/u, // dates, which the browser writes
      /^[ABDZ]$/, // keys
      /^Chrome · Linux$|^Mozilla\//, // devices
    ]
    const shown = [...document.querySelectorAll<HTMLElement>('body *')].filter(
      (element) => element.matches('option') || element.checkVisibility({ visibilityProperty: true }),
    )
    const isBypass = (text: string) => {
      let left = text
      for (let before = ''; before !== left;) [before, left] = [left, left.replace(/⟦[^⟦⟧]*⟧/g, '')]
      left = left.replace(/⟦.*$|^.*⟧/gs, '').trim()
      return /[a-z]/i.test(left) && !kept.some((reason) => reason.test(left))
    }
    const texts = shown.flatMap((element) => [
      ...[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.nodeValue ?? ''),
      ...['aria-label', 'title', 'placeholder', 'alt'].map((name) => element.getAttribute(name) ?? ''),
    ])
    const root = document.documentElement
    // A link to copy ends in an ellipsis.
    const mayOverflow = '.visually-hidden, input[readonly]'
    const tooWide = [root, ...shown].filter(
      (element) => element.scrollWidth > element.clientWidth && !element.matches(mayOverflow),
    )
    const overflows = tooWide.flatMap((element) => {
      const { overflowX, scrollbarWidth } = getComputedStyle(element)
      if (/hidden|clip/.test(overflowX)) return [`clipped: ${element.textContent || element.outerHTML}`]
      // A strip of tabs is moved without a bar.
      const hasBar = element === root || (/auto|scroll/.test(overflowX) && scrollbarWidth !== 'none')
      return hasBar ? [`a horizontal scroll bar: ${element.className || element.localName}`] : []
    })
    const isOutOfItsBox = (element: HTMLElement) => {
      const { parentElement: parent } = element
      if (!parent || !element.matches('a, button, p, span')) return false
      if (getComputedStyle(element).position !== 'static' || getComputedStyle(parent).overflowX !== 'visible')
        return false
      const [inner, outer] = [element.getBoundingClientRect(), parent.getBoundingClientRect()]
      return inner.left < outer.left - 1 || inner.right > outer.right + 1
    }
    return [
      ...[document.title.replace(/ · Gatehouse$/, ''), ...texts]
        .filter(isBypass)
        .map((text) => `untranslated: ${text.trim()}`),
      ...shown.filter(isOutOfItsBox).map((element) => `out of its box: ${element.textContent}`),
      ...overflows,
    ]
  })
}
