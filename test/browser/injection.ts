import { eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const alice = { username: 'alice', password: 'a long password' }
const elsewhere = 'https://elsewhere.example'
const run = `window.executed=1;fetch('${elsewhere}/fetched')`
export const payloads = [
  `<img src=x onerror="${run}">`,
  `"><svg onload="${run}"><image href="${elsewhere}/image"/></svg>`,
  `'-(${run})-'`,
  `javascript:${run}`,
  `<link rel=stylesheet href="${elsewhere}/sheet"><style>@import '${elsewhere}/import'</style>`,
  `url(${elsewhere}/picture)`,
  `<iframe srcdoc="<script>parent.${run}</script>"></iframe><base href="${elsewhere}/">`,
  `{{constructor.constructor("${run}")()}}\${${run}}`,
]

/** Of one context: what a script, the policy and the network of the browser have seen. */
async function watch(context: BrowserContext, origin: string) {
  const foreign: string[] = []
  const violations: string[] = []
  await context.exposeFunction('reportViolation', (text: string) => violations.push(text))
  await context.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      void (window as unknown as { reportViolation(text: string): void }).reportViolation(
        `${violatedDirective} ${blockedURI}`,
      )
    }),
  )
  context.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (protocol.startsWith('http') && asked !== origin) foreign.push(request.url())
  })
  return { foreign, violations }
}

const executed = (page: Page) => page.evaluate('window.executed')

type Target = { path: string; ready: string; showsNames?: boolean }

const publicPages = (payload: string, index: number): [Target, ...Target[]] => [
  { path: `/login?redirect=${encodeURIComponent(payload)}`, ready: 'Use an invite' },
  { path: `/register?invite=invite${index}${'_'.repeat(15)}`, ready: 'Your invite:' },
  { path: `/recover#${encodeURIComponent(payload)}`, ready: 'Confirm new password' },
]
const home: Target = { path: '/channels/@me', ready: 'Connected instances' }
const listsOf = (payloads: readonly string[]): Target[] => [
  { path: '/admin/users', ready: shown('{count} accounts', { count: payloads.length + 1 }), showsNames: true },
  { path: '/admin/invites', ready: shown('Used {used} times, no limit', { used: 0 }), showsNames: true },
  { path: '/admin/federation', ready: 'Requests from other instances', showsNames: true },
  { path: '/admin/audit', ready: 'Download (JSON Lines)', showsNames: true },
  { path: '/admin/settings', ready: 'Who can register' },
]

/** An image that does not exist is asked for last: the browser has then reported what the page asks for. */
function waitForRequests(page: Page): Promise<unknown> {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const last = new Image()
        last.onerror = () => resolve(null)
        last.src = `/${performance.now()}`
      }),
  )
}

/** Registers the tests, for people, peers and operators who wrote this. */
export function testInjection(written: readonly string[]): void {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('injection'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const reply = await postJson(instance, '/api/auth/register', alice)
    token = ((await reply.json()) as { token: string }).token
    for (const [index, payload] of written.entries()) await write(index, payload)
  })
  after(() => resources.disposeAsync())

  const sql = (text: string, ...values: unknown[]) => instance.runSql(text, values)

  /** Past every rule of the input: older rows and other instances. */
  async function write(index: number, payload: string): Promise<void> {
    await sql(
      `insert into users (id, username, password_hash, display_name, custom_status, bio, avatar, banner, accent_color,
         avatar_color, home_instance, home_user_id, suspended_at, suspended_reason)
       values (?, ?, 'none', ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`,
      1000 + index,
      `${payload}@${payload}`,
      payload,
      payload,
      payload,
      payload,
      payload,
      payload,
      payload,
      payload,
      payload,
      payload,
    )
    await sql(
      `insert into invites (id, token, name, created_by) select ?, ?, ?, id from users where username = 'alice'`,
      2000 + index,
      `invite${index}`.padEnd(22, '_'),
      payload,
    )
    await sql(
      `insert into peers (id, origin, host, secret, status, activated_at, instance_name)
       values (?, ?, ?, 'none', 'active', now(), ?)`,
      3000 + index,
      payload,
      payload,
      payload,
    )
    await sql(
      `insert into approval_requests (id, source_origin, secret, status, instance_name) values (?, ?, 'none', 'pending', ?)`,
      4000 + index,
      payload,
      payload,
    )
    await sql(
      `insert into audit_log (action, actor_username, target_type, target_id, target_name, detail)
       values ('user.renamed', ?, 'user', ?, ?, jsonb_build_object('reason', ?::text, ?::text, 'x'))`,
      payload,
      payload,
      payload,
      payload,
      payload,
    )
  }

  /** The reader's own profile, and the name of the instance. */
  async function rename(payload: string): Promise<void> {
    await sql(
      `update users set display_name = ?, custom_status = ?, bio = ?, avatar = ?, banner = ?, accent_color = ?, avatar_color = ?,
         replicated_instances = jsonb_build_array(jsonb_build_object('origin', ?::text, 'username', ?::text)) where username = 'alice'`,
      ...Array<string>(9).fill(payload),
    )
    await nameInstance(payload)
  }

  const nameInstance = (name: string) => sql('update instance_settings set instance_name = ?', name)

  it('runs nowhere, asks nobody else, and leaves the policy nothing to stop', async () => {
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    const seen = await watch(context, instance.origin)
    const page = await context.newPage()
    // A closed instance shows the names of invites.
    await sql('update instance_settings set registration_open = false')

    for (const [index, payload] of written.entries()) {
      await nameInstance(payload)
      const [login, ...others] = publicPages(payload, index)
      await load(page, login)
      for (const target of others) await follow(page, target)
    }

    await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
    for (const payload of written) {
      await rename(payload)
      await load(page, home)
      expect(await page.textContent('body'), 'the home page shows it').to.include(payload)
    }
    await nameInstance(written.join(' '))
    for (const target of listsOf(written)) {
      await load(page, target)
      const body = await page.textContent('body')
      if (target.showsNames) for (const payload of written) expect(body, `${target.path} shows it`).to.include(payload)
    }
    for (const [index, payload] of written.entries()) {
      await follow(page, { path: `/admin/users/${1000 + index}`, ready: 'Recent activity' })
      expect(await page.textContent('body'), 'the page of a user shows it').to.include(payload)
      await follow(page, { path: `/login?redirect=${encodeURIComponent(payload)}`, ready: home.ready })
    }
    await context.close()

    expect(seen).to.deep.equal({ foreign: [], violations: [] })
  })

  async function load(page: Page, { path, ready }: Target): Promise<void> {
    await page.goto(instance.origin + path)
    await expectHarmless(page, { path, ready })
  }

  /** Without a load, which is dear. */
  async function follow(page: Page, { path, ready }: Target): Promise<void> {
    await actions.follow(page, path)
    await expectHarmless(page, { path, ready })
  }

  async function expectHarmless(page: Page, { path, ready }: Target): Promise<void> {
    await actions.waitForText(page, ready)
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    await waitForRequests(page)
    expect((await page.textContent('body'))?.length, path).to.be.greaterThan(20)
    expect(await executed(page), path).to.equal(undefined)
  }

  it('runs where a page without a policy takes it for markup, and is stopped by the policy of the pages: the controls', async () => {
    const context = await browser.newContext()
    const seen = await watch(context, instance.origin)
    const page = await context.newPage()
    const markup = (text: string) => page.evaluate((html) => void (document.body.innerHTML = html), text)

    await page.goto('about:blank')
    await markup(payloads[0]!)
    await page.waitForFunction('window.executed')
    await eventually('a foreign request', () => seen.foreign.includes(`${elsewhere}/fetched`))
    await page.goto(`${instance.origin}/login`)
    await markup(payloads[0]!)
    await eventually('a violation', () => seen.violations.some((one) => one.includes('script-src')))

    expect(await executed(page)).to.equal(undefined)
    await context.close()
  })
}
