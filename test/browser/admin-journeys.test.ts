import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'
const manyUsers = 10_000

describe('journeys of an admin in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let admin: Page
  let token: string

  before(async () => {
    instance = resources.use(await startInstance('admin-journeys'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const registered = await postJson(instance, '/api/auth/register', { username: 'alice', password })
    token = ((await registered.json()) as { token: string }).token
    await answered(postJson(instance, '/api/auth/register', { username: 'bert', password }))
    admin = await actions.openPage(browser, instance, '/login')
    await actions.logIn(admin, { username: 'alice', password })
    await actions.waitForHomePage(admin)
  })

  after(() => resources.disposeAsync())

  const row = (text: string) => admin.getByRole('listitem').filter({ hasText: shownText(text) })

  it('edits an invite', async () => {
    await answered(postJson(instance, '/api/admin/invites', { name: 'Choir', maxUses: 1, expiresAt: null }, token))
    await admin.goto(`${instance.origin}/admin/invites`)
    await actions.clickInMenu(admin, 'Choir', shown('Edit {name}', { name: 'Choir' }))
    await actions.fillField(admin, 'Name', 'Choir and friends')
    await actions.fillField(admin, 'Maximum uses', 'many')
    await actions.clickInDialog(admin, 'Save')
    await actions.waitForText(admin, 'Enter a whole number of 1 or more.')
    await actions.fillField(admin, 'Maximum uses', '12')
    await actions.clickInDialog(admin, 'Save')

    await row('Choir and friends')
      .getByText(shown('{used} of {max} uses', { used: 0, max: 12 }))
      .waitFor()
  })

  /** What a request of the page to an invite’s path holds. */
  async function bodyOf(method: 'POST' | 'PATCH', act: () => Promise<unknown>): Promise<unknown> {
    const [request] = await Promise.all([
      admin.waitForRequest((sent) => sent.method() === method && sent.url().includes('/api/admin/invites')),
      act(),
    ])
    return request.postDataJSON()
  }

  /** Contract: 4, PATCH. */
  it('sends what was changed of an invite, and nothing else', async () => {
    const seconds = 12_345
    const expiresAt = Math.floor(Date.now() / 60_000) * 60_000 + 3 * 86_400_000 + seconds
    await answered(postJson(instance, '/api/admin/invites', { name: 'Evening', maxUses: 3, expiresAt }, token))
    await admin.goto(`${instance.origin}/admin/invites`)
    const edit = async (field: string, text: string) => {
      await actions.clickInMenu(admin, 'Evening', shown('Edit {name}', { name: 'Evening' }))
      await actions.fillField(admin, field, text)
      const body = await bodyOf('PATCH', () => actions.clickInDialog(admin, 'Save'))
      await admin.getByRole('dialog').waitFor({ state: 'detached' })
      return body
    }

    expect(await edit('Name', 'Evenings')).to.deep.equal({ name: 'Evenings' })
    expect(await edit('Maximum uses', '4')).to.deep.equal({ maxUses: 4 })
    const { invites } = await admin.evaluate(
      async (bearer) => (await fetch('/api/admin/invites', { headers: { authorization: `Bearer ${bearer}` } })).json(),
      token,
    )
    expect(invites[0]).to.include({ name: 'Evenings', maxUses: 4, expiresAt })
    expect(await edit('Expires', '2099-06-01T12:30')).to.deep.equal({ expiresAt: Date.parse('2099-06-01T12:30') })

    await actions.clickInMenu(admin, 'Evenings', shown('Revoke {name}', { name: 'Evenings' }))
    await actions.clickInDialog(admin, 'Revoke')
    await actions.click(admin, 'Inactive')
    await actions.clickInMenu(admin, 'Evenings', shown('Reinstate {name}', { name: 'Evenings' }))
    expect(await bodyOf('POST', () => actions.clickInDialog(admin, 'Reinstate'))).to.deep.equal({})
  })

  it('refuses a date of which a part is missing, and takes a whole or an empty one', async () => {
    await admin.goto(`${instance.origin}/admin/invites`)
    const sent: unknown[] = []
    admin.on('request', (request) => void (request.method() === 'POST' && sent.push(request.postDataJSON())))
    await actions.click(admin, 'New invite')
    await actions.fillField(admin, 'Name', 'Soon over')
    const expiry = admin.getByLabel(/^Expires/)
    const isPartial = () => expiry.evaluate((input: HTMLInputElement) => input.value === '' && input.validity.badInput)
    const clearMinutes = async () => {
      await expiry.focus()
      // Month, day, year, hour, minute.
      for (let part = 1; part < 5; part += 1) await admin.keyboard.press('ArrowRight')
      await admin.keyboard.press('Backspace')
    }

    await clearMinutes()
    expect(await isPartial()).to.equal(true)
    await actions.clickInDialog(admin, 'Create invite')
    await actions.waitForText(admin, 'This date is incomplete.')
    expect(await admin.evaluate(() => document.activeElement?.id)).to.equal('expires-at')

    // No event tells of a part in an empty field.
    await expiry.fill('')
    await admin.getByText(shown('This date is incomplete.')).waitFor({ state: 'detached' })
    await expiry.focus()
    await admin.keyboard.press('1')
    expect(await isPartial()).to.equal(true)
    await admin.keyboard.press('Enter')
    await actions.waitForText(admin, 'This date is incomplete.')
    expect(sent).to.deep.equal([])

    await expiry.fill('2099-06-01T12:30')
    await actions.clickInDialog(admin, 'Create invite')
    await row('Soon over').waitFor()
    expect(sent).to.deep.equal([{ name: 'Soon over', maxUses: 1, expiresAt: Date.parse('2099-06-01T12:30') }])

    await actions.clickInMenu(admin, 'Soon over', shown('Edit {name}', { name: 'Soon over' }))
    await clearMinutes()
    for (let part = 1; part < 6; part += 1) {
      await admin.keyboard.press('Backspace')
      await admin.keyboard.press('ArrowLeft')
    }
    await admin.keyboard.press('ArrowRight')
    for (let part = 1; part < 6; part += 1) await admin.keyboard.press('ArrowRight')
    await admin.keyboard.press('Backspace')
    expect(await isPartial()).to.equal(false)
    expect(await bodyOf('PATCH', () => actions.clickInDialog(admin, 'Save'))).to.deep.equal({ expiresAt: null })
    await row('Soon over').getByText(shown('never expires')).waitFor()
  })

  it('revokes an invite and reinstates it with a new link', async () => {
    await actions.click(admin, /^Active$/)
    const link = admin.getByRole('textbox', { name: shown('Link for {name}', { name: 'Choir and friends' }) })
    const before = await link.inputValue()
    await actions.clickInMenu(admin, 'Choir and friends', shown('Revoke {name}', { name: 'Choir and friends' }))
    await actions.clickInDialog(admin, 'Revoke')
    await actions.click(admin, 'Inactive')
    await actions.clickInMenu(admin, 'Choir and friends', shown('Reinstate {name}', { name: 'Choir and friends' }))
    await actions.waitForText(admin, 'The invite gets a new link.')
    await actions.clickInDialog(admin, 'Reinstate')
    await actions.waitForText(admin, shown('{name} is active again, with a new link.', { name: 'Choir and friends' }))
    await actions.click(admin, /^Active$/)

    expect(await link.inputValue()).to.not.equal(before)
  })

  it('makes a user an admin, and takes the role back', async () => {
    await admin.goto(`${instance.origin}/admin/users`)
    await actions.clickInMenu(admin, 'bert', shown('Make admin: {username}', { username: 'bert' }))
    await actions.clickInDialog(admin, 'Make admin')
    await row('@bert').getByText(shown('Admin'), { exact: true }).waitFor()

    await actions.clickInMenu(admin, 'bert', shown('Remove as admin: {username}', { username: 'bert' }))
    await actions.clickInDialog(admin, 'Remove as admin')

    await row('@bert').getByText(shown('Admin'), { exact: true }).waitFor({ state: 'detached' })
  })

  it('is told the spaces of a user because of which the account is not deleted', async () => {
    await instance.runSql(
      `insert into spaces (id, name, owner_id) select 78, 'The orchard', id from users where username = 'bert'`,
    )
    await actions.clickInMenu(admin, 'bert', shown('Delete {name}', { name: 'bert' }))
    await actions.clickInDialog(admin, 'Delete permanently')

    await admin.getByRole('dialog').getByText('The orchard').waitFor()
    await actions.waitForText(admin, 'Nothing was deleted, because this user owns spaces.')
    await actions.clickInDialog(admin, 'Cancel')
  })

  it('is warned as the last admin before deleting the own account', async () => {
    await admin.goto(instance.origin)
    await actions.waitForHomePage(admin)
    await actions.openSettings(admin, 'leave')
    await actions.click(admin, 'Delete account')

    await actions.waitForText(admin, 'You’re the last admin of this instance.')
    await actions.clickInDialog(admin, 'Cancel')
  })

  it(`finds a user among ${manyUsers.toLocaleString('en')}, by name, instance and day of joining, page by page`, async () => {
    await instance.runSql(
      `insert into users (id, username, password_hash, home_instance, home_user_id, created_at)
       select 1000 + n, case when n % 2 = 0 then 'user_' || n else 'user_' || n || '@far.example' end, 'none',
         case when n % 2 = 0 then null else 'far.example' end, case when n % 2 = 0 then null else n::text end,
         timestamptz '2024-03-01' + n * interval '1 minute'
       from generate_series(1, ?::int) n`,
      [manyUsers],
    )
    await instance.runSql('analyze users')
    await admin.goto(`${instance.origin}/admin/users`)
    await actions.waitForText(admin, /^About 10,\d{3} accounts/)
    // Above 10,000 a total is an estimate.
    await actions.click(admin, 'Next')
    await admin.getByRole('button', { name: shown('Previous') }).waitFor()
    expect(await admin.getByRole('listitem').count()).to.be.at.most(40)

    await admin.getByLabel(shown('Instance')).selectOption('far.example')
    await actions.waitForText(admin, shown('{count} accounts', { count: '5,000' }))
    await admin.getByLabel(shown('Joined on or before')).fill('2024-03-01')
    await actions.waitForText(admin, /^7(19|20) accounts/)
    await actions.click(admin, 'Next')
    await admin.getByRole('button', { name: shown('Previous') }).waitFor()
    await actions.fillField(admin, 'Search', 'user_21@')
    await actions.waitForText(admin, '1 account')
    await row('@user_21@far.example').waitFor()
    await admin.getByLabel(shown('Instance')).selectOption('local')
    await actions.waitForText(admin, 'No users found.')
  })

  it('reads the API description in the own theme, and sends an example with the own token', async () => {
    await admin.evaluate(() => localStorage.setItem('gatehouse_theme', 'dark'))
    const problems: string[] = []
    admin.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())))
    await admin.goto(`${instance.origin}/api/docs`)
    expect(await admin.evaluate(() => document.documentElement.dataset['theme'])).to.equal('dark')
    const colors = await admin.evaluate(() => getComputedStyle(document.body).backgroundColor)
    expect(colors).to.equal('rgb(15, 22, 24)')

    await admin.locator('#getUser > summary').click()
    await admin.locator('#getUser').getByLabel('id').fill('1042')
    await admin.locator('#getUser').getByRole('button', { name: 'Send' }).click()
    await admin.locator('#getUser pre').getByText('"username": "user_42"').waitFor()

    await admin.locator('#createInvite > summary').click()
    const form = admin.locator('#createInvite form')
    const example = await form.getByLabel('Body').inputValue()
    expect(example).to.match(/"name": "",\s+"maxUses": null,\s+"expiresAt": null/)
    await form.getByLabel('Body').fill(example.replace('""', '"By example"'))
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText(/^201/).waitFor()

    await admin.locator('#patchSelf > summary').click()
    const change = admin.locator('#patchSelf form')
    await change.getByRole('button', { name: 'Send' }).click()
    await change.locator('pre').waitFor()
    expect(await change.locator('pre').textContent()).to.match(/^200/)
    await admin.goto(instance.origin)
    await admin.getByRole('heading', { name: 'text', exact: true }).waitFor()
    expect(problems).to.deep.equal([])
  })
})
