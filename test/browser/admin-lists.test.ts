import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

/** Contract: 5, Overview. */
describe('lists and numbers of the administration in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let page: Page
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('admin-lists'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const registered = await postJson(instance, '/api/auth/register', {
      username: 'alice',
      password: 'a long password',
    })
    token = ((await registered.json()) as { token: string }).token
    page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
  })
  after(() => resources.disposeAsync())

  const open = (path: string) => page.goto(instance.origin + path)
  const rows = () => page.getByRole('main').locator('ul.list > li')
  const firstRow = () => rows().first().textContent()

  it('leads through the first steps until they are done, and tells the numbers of the API', async () => {
    const step = (name: string) => page.getByRole('listitem').filter({ hasText: shownText(name) })
    const done = page.getByRole('listitem').getByText(shown('Done'), { exact: true })
    await open('/admin')
    await step('Name your instance').getByRole('link').waitFor()
    await step('Add a second admin').getByRole('link').waitFor()
    expect(await done.count()).to.equal(0)

    await instance.runSql(
      `insert into users (id, username, password_hash, is_admin, created_at)
       select 1000 + n, 'user_' || to_char(n, 'FM000'), 'none', n = 1, now() - (n % 3) * interval '1 day' from generate_series(1, 60) n`,
    )
    await instance.runSql(
      "update instance_settings set instance_name = 'Orchard', registration_open = true, reserved_usernames = '[\"root\"]'",
    )
    await page.reload()
    await step('Add a second admin').getByText(shown('Done')).waitFor()
    expect(await done.count()).to.equal(5)
    await actions.click(page, 'Mark as done')
    await page.getByText(shown('Get started')).waitFor({ state: 'detached' })
    await page.reload()
    await actions.waitForText(page, 'Registrations per day')
    expect(await page.getByText(shown('Get started')).count()).to.equal(0)

    const answer = await fetch(`http://127.0.0.1:${instance.port}/api/admin/overview`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { registrations } = (await answer.json()) as { registrations: { count: number }[] }
    await page.getByText(shown('Show as table')).click()
    const cells = await page.getByRole('table').getByRole('cell').allTextContents()
    expect(cells.map(Number)).to.deep.equal(registrations.map(({ count }) => count).toReversed())
    expect(registrations.at(-2)?.count).to.equal(20)
    expect(
      await page
        .locator('.figure')
        .filter({ hasText: shown('Accounts') })
        .textContent(),
    ).to.equal('Accounts61')
  })

  it('keep a filter by day while a part of the day is missing', async () => {
    await open('/admin/users')
    const from = page.getByLabel(shown('Joined on or after'))
    await from.fill('2024-03-01')
    await page.waitForURL('**/admin/users?joinedAfter=2024-03-01')
    await from.focus()
    await page.keyboard.press('Backspace')
    await actions.waitForText(page, 'This date is incomplete.')
    expect(new URL(page.url()).search).to.equal('?joinedAfter=2024-03-01')

    for (let part = 1; part < 3; part += 1) {
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Backspace')
    }

    await page.waitForURL('**/admin/users')
    await page.getByText(shown('This date is incomplete.')).waitFor({ state: 'detached' })
  })

  it('keep filters and place in the address, for Back, a reload and a link', async () => {
    await open('/admin/users')
    await page.getByLabel(shown('Sort by')).selectOption('az')
    await page.getByLabel(shown('Search')).fill('user ')
    await actions.waitForText(page, shown('{count} accounts', { count: 60 }))
    expect(await page.getByLabel(shown('Search')).inputValue()).to.equal('user ')
    await actions.click(page, 'Next')
    await rows().filter({ hasText: '@user_021' }).waitFor()
    expect(await firstRow()).to.include('@user_021')
    expect(await page.evaluate(() => document.activeElement?.className)).to.equal('toolbar')

    await page.reload()
    await rows().filter({ hasText: '@user_021' }).waitFor()
    await page.getByRole('link', { name: '@user_021' }).click()
    await page.getByRole('heading', { name: shown('Recent activity') }).waitFor()
    await page.goBack()
    await rows().filter({ hasText: '@user_021' }).waitFor()
    const address = page.url()
    await actions.click(page, 'Previous')
    await rows().filter({ hasText: '@user_001' }).waitFor()
    expect(new URL(page.url()).search).to.equal('?sort=az&q=user')
    expect(await page.getByLabel(shown('Search')).inputValue()).to.equal('user')

    await page.goto(address)
    await actions.click(page, 'First page')
    await rows().filter({ hasText: '@user_001' }).waitFor()
  })

  it('show no row of another page when paging fails, and go on after a retry', async () => {
    await open('/admin/users?sort=az&q=user')
    await rows().filter({ hasText: '@user_001' }).waitFor()
    let failures = 0
    await page.route('**/api/admin/users?*cursor*', async (route) => {
      failures += 1
      await route.fulfill({ status: 500, json: { error: 'Broken', statusCode: 500, code: 'internal' } })
    })
    await actions.click(page, 'Next')
    await page.getByRole('alert').waitFor()
    expect(await rows().count()).to.equal(0)
    expect(await page.getByRole('alert').isVisible()).to.equal(true)
    expect(failures).to.be.greaterThan(0)

    await page.unroute('**/api/admin/users?*cursor*')
    await actions.click(page, 'Try again')
    await rows().filter({ hasText: '@user_021' }).waitFor()
    expect(await page.getByRole('alert').count()).to.equal(0)
  })

  it('say that a page is slow, beside the rows of the page before', async () => {
    await open('/admin/users?sort=az&q=user')
    await rows().filter({ hasText: '@user_001' }).waitFor()
    const state = page.getByRole('group', { name: shown('Users') }).getByRole('status')
    await state.getByText(shown('{count} accounts', { count: 60 })).waitFor()
    let answer: () => void = () => undefined
    const held = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/api/admin/users?*cursor*', (route) => held.then(() => route.continue()))

    await actions.click(page, 'Next')
    await state.getByText(shown('Loading…')).waitFor()
    await page.locator('ul.list[aria-busy=true]').waitFor()
    expect(await firstRow()).to.include('@user_001')
    answer()

    await rows().filter({ hasText: '@user_021' }).waitFor()
    await state.getByText(shown('Loading…')).waitFor({ state: 'detached' })
    await page.unroute('**/api/admin/users?*cursor*')
  })

  it('suspend several accounts, and take it back', async () => {
    await open('/admin/users?sort=az&q=user')
    await page.getByRole('checkbox', { name: shown('Select {username}', { username: 'user_001' }) }).check()
    await page.getByRole('checkbox', { name: shown('Select {username}', { username: 'user_002' }) }).check()
    const busy = { status: 503, json: { error: 'Busy', statusCode: 503, code: 'unavailable' } }
    await page.route('**/api/admin/users/1001/suspend', (route) => route.fulfill(busy), { times: 1 })
    await actions.click(page, shown('Suspend selected ({count})', { count: 2 }))
    await actions.clickInDialog(page, 'Suspend')
    await actions.waitForText(page, shown('Suspended: {count}', { count: 2 }))
    await actions.clickInDialog(page, 'Undo')
    await actions.waitForText(page, shown('Unsuspended: {count}', { count: 2 }))
    await actions.clickInDialog(page, 'Done')

    await page.getByLabel(shown('Only suspended')).check()
    await actions.waitForText(page, 'No users found.')
  })

  it('suspend several accounts, tell which one got no answer, and take the others back', async () => {
    await open('/admin/users?sort=az&q=user')
    for (const username of ['user_003', 'user_004'])
      await page.getByRole('checkbox', { name: shown('Select {username}', { username }) }).check()
    await page.route('**/api/admin/users/1003/suspend', (route) => route.abort())
    await actions.click(page, shown('Suspend selected ({count})', { count: 2 }))
    await actions.clickInDialog(page, 'Suspend')

    await actions.waitForText(page, shown('Suspended: {count}', { count: 1 }))
    const left = page.getByRole('dialog').getByRole('listitem')
    expect(await left.allInnerTexts()).to.have.length(1)
    expect(await left.innerText()).to.match(/user_003\s+Couldn’t reach this instance/)
    // Whether the one without an answer was suspended is not known: it is taken back too, once it can be reached.
    await page.route('**/api/admin/users/1003/unsuspend', (route) => route.abort(), { times: 1 })
    await actions.clickInDialog(page, 'Undo')
    await actions.waitForText(page, shown('Unsuspended: {count}', { count: 1 }))
    await actions.clickInDialog(page, 'Undo')
    await left.first().waitFor({ state: 'detached' })
    await actions.waitForText(page, shown('Unsuspended: {count}', { count: 1 }))
    await actions.clickInDialog(page, 'Done')
    await page.unroute('**/api/admin/users/1003/suspend')
  })

  it('lead from the audit log to a user, and find who did what to whom by name', async () => {
    await open('/admin/audit?subject=user_002&actor=alice')
    await rows()
      .filter({ hasText: shown('{actor} unsuspended user {target}', { actor: 'alice', target: 'user_002' }) })
      .waitFor()
    expect(await rows().count()).to.equal(2)
    await page.getByLabel(shown('Action')).selectOption('user.suspended')
    await rows()
      .filter({ hasText: shown('{actor} suspended user {target}', { actor: 'alice', target: 'user_002' }) })
      .waitFor()
    const saving = page.waitForEvent('download')
    await actions.click(page, 'Download (JSON Lines)')
    expect((await saving).suggestedFilename()).to.equal('audit-log.jsonl')

    await page.getByRole('link', { name: 'user_002' }).click()
    await page.waitForURL('**/admin/users/1002')
    await page.getByRole('link', { name: shown('All entries by this account') }).click()
    await actions.waitForText(page, 'No entries found.')
  })

  it('fold their filters on a phone, and say how many are set', async () => {
    await page.setViewportSize({ width: 360, height: 640 })
    await open('/admin/users?sort=az')
    await rows().first().waitFor()
    // Below three lines of tabs.
    expect((await rows().first().boundingBox())?.y).to.be.lessThan(450)
    expect(await page.getByLabel(shown('Sort by')).isVisible()).to.equal(false)
    await actions.click(page, shown('Filters: {count}', { count: 1 }))
    await page.getByLabel(shown('Sort by')).selectOption('')
    await page.getByRole('button', { name: shown('Filters'), exact: true }).waitFor()
  })
})
