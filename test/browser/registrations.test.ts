import { answered, eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { newAddress, postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'
const off = { approvalRequired: false, askReason: false, proofOfWork: 'off' }

/** Contract: 3, Approval, Proof of work. */
describe('registrations that wait for approval in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let adminToken: string

  before(async () => {
    instance = resources.use(await startInstance('registrations'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const registered = await answered(postJson(instance, '/api/auth/register', { username: 'first', password }))
    adminToken = ((await registered.json()) as { token: string }).token
  })
  beforeEach(async () => {
    await patchSettings({ ...off, approvalRequired: true })
    await instance.runSql('delete from registrations')
    await instance.runSql('delete from blocked_networks')
  })
  after(() => resources.disposeAsync())

  async function patchSettings(settings: object): Promise<void> {
    await answered(
      fetch(`http://127.0.0.1:${instance.port}/api/settings/instance`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify(settings),
      }),
    )
  }
  const ask = (username: string, more: object = {}, address = newAddress()) =>
    postJson(instance, '/api/auth/register', { username, password, ...more }, undefined, address)
  const openQueue = () =>
    actions.openPage(browser, instance, { path: '/admin/registrations', token: adminToken, prepare: addAxe })
  const rowOf = (page: Page, username: string) => page.locator('.registration').filter({ hasText: username })
  const selected = (page: Page) => page.locator('.registration[data-selected=true]')
  const count = async (sql: string): Promise<number> => {
    const [row] = (await instance.runSql(`select count(*)::int as n from ${sql}`)) as { n: number }[]
    return row?.n ?? NaN
  }
  async function insertRobots(): Promise<void> {
    await instance.runSql(`insert into registrations (id, receipt_hash, created_at, username, reason, network, password_hash)
      select n, n, now() - n * interval '1 minute', 'robot_' || n, 'I like your great community', '198.51.100.' || (n - 1) / 25, 'none'
      from generate_series(1, 100) n`)
  }
  /** Each is decided in a transaction of its own: on a slow machine the minute of the first denial is over before the last. */
  async function holdDenials(): Promise<AsyncDisposable> {
    await instance.runSql(`create function hold_denial() returns trigger language plpgsql as $$
      begin new.denied_at = new.denied_at + interval '1 hour'; return new; end $$`)
    await instance.runSql(
      'create trigger hold_denial before update of denied_at on registrations for each row execute function hold_denial()',
    )
    return { [Symbol.asyncDispose]: async () => void (await instance.runSql('drop function hold_denial cascade')) }
  }
  /** To the first two of the requests, as when PostgreSQL goes away in and before the decisions. */
  async function beBusy(page: Page, path: string): Promise<void> {
    const error = { error: 'Busy', statusCode: 503, code: 'unavailable' }
    let requests = 0
    await page.route(`**${path}`, async (route) => {
      const { ids } = route.request().postDataJSON() as { ids: string[] }
      requests += 1
      if (requests === 1) {
        return await route.fulfill({ json: { decided: [], missed: ids.map((id) => ({ id, code: 'unavailable' })) } })
      }
      return await (requests === 2 ? route.fulfill({ status: 503, json: error }) : route.continue())
    })
  }
  /** Goes on with Tab until a row of the queue has the focus. */
  async function tabToQueue(page: Page): Promise<void> {
    for (let tabs = 0; tabs < 40; tabs += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate(() => !!document.activeElement?.closest('.registration'))) return
    }
    throw new Error('Tab does not reach the queue')
  }

  it('tell the person what happens now, after a reload too, and lead to the login once they are approved', async () => {
    await patchSettings({ askReason: true })
    await using admin = await openQueue()
    await actions.waitForText(admin, 'Nobody is waiting.')
    await using page = await actions.openPage(browser, instance, { path: '/register', prepare: addAxe })
    await actions.fillField(page, 'Username', 'rosa')
    await actions.fillField(page, 'Password', password)
    await actions.fillField(page, 'Confirm password', password)
    await actions.click(page, 'Continue')
    await actions.waitForText(page, 'Tell the admins why you want to join.')
    await page.getByLabel(shown('Why do you want to join?')).fill('I sing in the choir.\nGrace knows me.')
    await actions.click(page, 'Continue')
    await actions.click(page, 'Send registration')
    await actions.waitForText(page, 'Waiting for approval')
    expect(await findFaults(page)).to.deep.equal([])

    await rowOf(admin, 'rosa').getByText('Grace knows me.').waitFor()
    await admin.getByRole('link', { name: /^Registrations ?1/ }).waitFor()
    await page.reload()
    await actions.waitForText(page, 'Waiting for approval')
    await actions.follow(page, '/login')
    await page.getByRole('link', { name: shown('See whether it’s approved') }).waitFor()
    await actions.logIn(page, { username: 'rosa', password })
    await actions.waitForText(page, 'Your registration is waiting for an admin. You can log in when it is approved.')
    await page.getByRole('link', { name: shown('See whether it’s approved') }).click()
    await actions.waitForText(page, 'Waiting for approval')

    await rowOf(admin, 'rosa').getByRole('checkbox').focus()
    await admin.keyboard.press('a')
    await actions.waitForText(admin, 'Nobody is waiting.')
    // As if the person came back to the tab: it asks then, and not at its next turn alone.
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await actions.waitForText(page, 'You’re in')
    expect(await findFaults(page)).to.deep.equal([])
    await actions.click(page, 'Log in')
    expect(await page.getByLabel(shown('Username')).inputValue()).to.equal('rosa')
    await actions.fillField(page, 'Password', password)
    await actions.click(page, 'Log in')
    await actions.waitForHomePage(page)
    expect(await page.evaluate(() => localStorage.getItem('gatehouse_registration'))).to.equal('')
  })

  it('are forgotten by the browser at the login, however fast it is', async () => {
    await answered(ask('yara'))
    await patchSettings(off)
    await using page = await actions.openPage(browser, instance, {
      path: '/no-such-page',
      prepare: (opened) => opened.route(/receipt-notice/, () => undefined),
    })
    await page.evaluate(() => localStorage.setItem('gatehouse_registration', '{"username":"first","receipt":"kept"}'))
    const asked = page.waitForRequest(/receipt-notice/)
    await page.goto(`${instance.origin}/login`)
    await asked

    await actions.logIn(page, { username: 'first', password })
    await actions.waitForHomePage(page)

    expect(await page.evaluate(() => localStorage.getItem('gatehouse_registration'))).to.equal('')
  })

  it('say that an invite is over, and that an admin decides without one', async () => {
    const wanted = { name: 'Over', maxUses: 1, expiresAt: null }
    const created = await answered(postJson(instance, '/api/admin/invites', wanted, adminToken))
    const { token } = (await created.json()) as { token: string }
    await instance.runSql("update invites set expires_at = now() - interval '1 day'")
    const path = `/register?invite=${token}`
    await using page = await actions.openPage(browser, instance, { path, prepare: addAxe })

    await actions.waitForText(page, 'This invite has expired. Ask for a new one.')
    await actions.waitForText(page, 'Or register without one: an admin then decides about it.')
    expect(await findFaults(page)).to.deep.equal([])
    await patchSettings(off)
    await page.reload()
    await page.getByLabel(shown('Username')).waitFor()
    expect(await page.getByText(shown('This invite has expired. Ask for a new one.')).count()).to.equal(0)
  })

  it('can be denied, restored within a minute, and denied for good, and other admins see it happen', async () => {
    await answered(ask('vera'))
    const { receipt } = (await (await ask('walter')).json()) as { receipt: string }
    await using admin = await openQueue()
    await using other = await openQueue()
    await rowOf(other, 'vera').waitFor()
    await rowOf(admin, 'vera').getByRole('checkbox').focus()

    await admin.keyboard.press('d')
    await rowOf(other, 'vera').getByText(shown('Denied')).waitFor()
    await admin.keyboard.press('d')
    await rowOf(other, 'walter').getByText(shown('Denied')).waitFor()
    await admin.keyboard.press('z')
    await rowOf(other, 'walter').getByRole('checkbox', { disabled: false }).waitFor()
    await actions.click(other, shown('Undo the denial of {username}', { username: 'vera' }))
    await rowOf(admin, 'vera').getByRole('checkbox', { disabled: false }).waitFor()
    expect(await count('registrations where denied_at is null')).to.equal(2)

    await actions.click(admin, shown('Deny {username}', { username: 'walter' }))
    await rowOf(other, 'walter').getByText(shown('Denied')).waitFor()
    await actions.waitForText(admin, shown('Denied: {count}. You can undo this for one minute.', { count: 1 }))
    expect(await findFaults(admin)).to.deep.equal([])
    await instance.runSql(
      "update registrations set denied_at = now() - interval '61 seconds' where username = 'walter'",
    )

    await using page = await actions.openPage(browser, instance, '/no-such-page')
    await page.evaluate(
      (kept) => localStorage.setItem('gatehouse_registration', JSON.stringify({ username: 'walter', receipt: kept })),
      receipt,
    )
    await page.goto(`${instance.origin}/register`)
    await actions.waitForText(page, 'Registration ended')
    await actions.click(page, 'Register again')
    await page.getByLabel(shown('Username')).waitFor()
  })

  it('of a hundred robots and three people are told apart by keyboard alone', async () => {
    await insertRobots()
    for (const [index, username] of ['ada', 'grace', 'hedy'].entries()) {
      await answered(ask(username, { reason: `I was at the talk, ${username}` }, `192.0.2.${index}`))
    }
    await using _denials = await holdDenials()
    await using admin = await openQueue()
    admin.setDefaultTimeout(120_000)
    await admin.clock.setFixedTime(new Date())
    await rowOf(admin, 'robot_100').waitFor()

    await tabToQueue(admin)
    for (let steps = 0; steps < 3; steps += 1) await admin.keyboard.press('ArrowDown')
    await admin.keyboard.press('Space')
    await admin.keyboard.press('Shift+End')
    expect(await selected(admin).count()).to.equal(100)
    await admin.keyboard.press('b')
    await actions.waitForText(admin, shown('Deny {count} and block their networks', { count: 100 }))
    const path = '/api/admin/registrations/decide'
    await beBusy(admin, path)
    await admin.keyboard.press('Enter')
    await actions.waitForText(admin, shown('Denied: {count}. You can undo this for one minute.', { count: 100 }))
    await admin.unroute(`**${path}`)
    expect(await count('registrations where denied_at is not null')).to.equal(100)
    await eventually(
      'they are shown as denied',
      async () => (await rowOf(admin, 'robot_').getByText(shown('Denied')).count()) === 100,
    )
    await eventually('the focus goes to a person', async () =>
      admin.evaluate(() => /registration/.test(document.activeElement?.id ?? '')),
    )

    await admin.keyboard.press('Control+a')
    await admin.keyboard.press('a')
    await actions.waitForText(admin, shown('Approve {count} registrations', { count: 3 }))
    // The row from which the dialog was opened is gone before the dialog is.
    await admin.route(`**${path}`, async (route) => {
      const response = await answered(postJson(instance, path, route.request().postDataJSON() as object, adminToken))
      await rowOf(admin, 'ada').waitFor({ state: 'detached' })
      await route.fulfill({ json: await response.json() })
    })
    await admin.keyboard.press('Tab')
    await admin.keyboard.press('Enter')
    await actions.waitForText(admin, shown('Approved: {count}', { count: 3 }))
    await admin.getByRole('dialog').waitFor({ state: 'detached' })
    await admin.unroute(`**${path}`)

    expect(await count("users where username in ('ada', 'grace', 'hedy')")).to.equal(3)
    const blocked = await ask('robot_too', {}, '198.51.100.1')
    expect(blocked.status).to.equal(403)
    await admin.keyboard.press('z')
    await eventually(
      'the denial is taken back',
      async () => (await count('registrations where denied_at is null and username is not null')) === 100,
    )
    await eventually(
      'they are shown as they were',
      async () => (await rowOf(admin, 'robot_').getByText(shown('Denied')).count()) === 0,
    )
    expect(await rowOf(admin, 'robot_').count()).to.equal(100)
    await eventually('none is selected', async () => (await selected(admin).count()) === 0)
    expect((await ask('robot_too', {}, '198.51.100.1')).status).to.equal(202)
  })

  it('that are denied in two attempts, because the instance was busy, can all be taken back', async () => {
    await insertRobots()
    await using _denials = await holdDenials()
    await using admin = await openQueue()
    await admin.clock.setFixedTime(new Date())
    await rowOf(admin, 'robot_100').waitFor()
    const busy = { error: 'Busy', statusCode: 503, code: 'unavailable' }
    let requests = 0
    await admin.route('**/api/admin/registrations/decide', async (route) => {
      requests += 1
      return await (requests === 1 ? route.continue() : route.fulfill({ status: 503, json: busy }))
    })
    await tabToQueue(admin)
    await admin.keyboard.press('Control+a')
    await admin.keyboard.press('b')
    await actions.waitForText(admin, shown('Deny {count} and block their networks', { count: 100 }))
    await admin.keyboard.press('Enter')
    await actions.waitForText(admin, 'This instance is busy. Try again in a moment.')
    await admin.unroute('**/api/admin/registrations/decide')
    await admin.keyboard.press('Enter')
    await actions.waitForText(admin, shown('Denied: {count}. You can undo this for one minute.', { count: 100 }))
    expect(await admin.getByText(shown('Some registrations were left as they are:')).count()).to.equal(0)

    // The instance is busy for all of them, and a second time.
    await admin.route('**/api/admin/registrations/decide', (route) => route.fulfill({ status: 503, json: busy }))
    await admin.keyboard.press('z')
    await actions.waitForText(admin, 'This instance is busy. Try again in a moment.')
    await admin.unroute('**/api/admin/registrations/decide')
    await actions.waitForText(admin, shown('Denied: {count}. You can undo this for one minute.', { count: 100 }))
    await admin.keyboard.press('z')
    await eventually('all are taken back', async () => (await count('registrations where denied_at is not null')) === 0)
  })

  it('need a proof of work where that is on, which the page makes in a worker of its own', async () => {
    await patchSettings({ approvalRequired: false, proofOfWork: 'registration' })
    expect((await ask('robot')).status).to.equal(403)
    await using page = await actions.openPage(browser, instance, '/register')
    const workers: string[] = []
    page.on('worker', (worker) => workers.push(new URL(worker.url()).origin))

    await actions.register(page, { username: 'irene', password })

    expect(workers).to.deep.equal([instance.origin])
  })

  it('need a proof of work although the page was opened before that was on', async () => {
    await patchSettings({ approvalRequired: false })
    await using page = await actions.openPage(browser, instance, '/register')
    await page.getByLabel(shown('Username')).waitFor()
    await patchSettings({ proofOfWork: 'registration' })

    await actions.register(page, { username: 'maryam', password })
  })

  it('are turned on in the settings, where an admin tells how long a network is blocked', async () => {
    await patchSettings(off)
    await using page = await actions.openPage(browser, instance, { path: '/admin/settings', token: adminToken })
    for (const [label, column] of [
      ['Approve new accounts', 'approval_required'],
      ['Ask why people want to join', 'ask_reason'],
      ['Proof of work', "(proof_of_work = 'registration')"],
    ] as const) {
      await page.getByRole('switch', { name: shown(label) }).click()
      await eventually(`${label} is saved`, async () => (await count(`instance_settings where ${column}`)) === 1)
    }
    await actions.fillField(page, 'Hours that a network is blocked', '721')
    const save = page
      .locator('form')
      .filter({ hasText: shown('Hours that a network is blocked') })
      .getByRole('button')
    await save.click()
    await actions.waitForText(page, shown('Enter a whole number from 0 to {max}.', { max: 720 }))
    await actions.fillField(page, 'Hours that a network is blocked', '48')
    await save.click()

    await eventually(
      'the settings are saved',
      async () => (await count('instance_settings where denial_block_hours = 48')) === 1,
    )
    const info = await (await fetch(`http://127.0.0.1:${instance.port}/api/instance/info`)).json()
    expect(info).to.include({ approvalRequired: true, askReason: true, proofOfWork: 'registration' })
  })
})
