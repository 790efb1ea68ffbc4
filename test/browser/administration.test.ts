import { launchChromium } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { startInstance, type Instance } from './instance.ts'
import * as steps from './steps.ts'

const boss = { username: 'boss', password: 'a long password' }
const guest = { username: 'guest', password: 'a long password' }

describe('the administration in the browser', function () {
  this.timeout(120_000)
  let instance: Instance
  let browser: Browser
  let admin: Page

  before(async () => {
    instance = await startInstance('administration')
    browser = await launchChromium()
    admin = await steps.openTab(browser, instance, '/register')
    await steps.register(admin, boss)
  })

  after(async () => {
    await browser?.close()
    await instance?.[Symbol.asyncDispose]()
  })

  it('closes the gate, and an invite opens it for one', async () => {
    await admin.goto(`${instance.origin}/admin/gates`)
    await admin.getByLabel('Invite only').check()
    await steps.see(admin, 'Saved.')
    const visitor = await steps.openTab(browser, instance, '/register')
    await steps.see(visitor, 'New accounts need an invite.')

    await visitor.goto(await makeInvite(admin, instance, 'Open evening'))
    await steps.see(visitor, 'You are invited: Open evening')
    await steps.register(visitor, guest)

    await admin.reload()
    await steps.press(admin, 'Archived')
    await steps.press(admin, 'Who used it: Open evening')
    await admin.getByRole('dialog').getByText('guest').waitFor()
    await visitor.context().close()
  })

  it('lets no one in by a revoked invite', async () => {
    const link = await makeInvite(admin, instance, 'Mistake')
    await steps.press(admin, 'Revoke Mistake')
    await steps.confirm(admin, 'Revoke')
    await steps.see(admin, 'Mistake was revoked.')

    const visitor = await steps.openTab(browser, instance, new URL(link).pathname + new URL(link).search)

    await steps.see(visitor, 'This invite is not valid.')
    await visitor.context().close()
  })

  it('resets a password: the other tab is thrown out at once, and the temporary password lets its person in', async () => {
    const other = await steps.openTab(browser, instance, '/login')
    await steps.logIn(other, guest)
    await steps.arriveHome(other)
    await steps.see(other, 'Online')
    await admin.goto(`${instance.origin}/admin/users`)
    await steps.press(admin, 'Reset password of guest')
    await steps.confirm(admin, 'Reset password')
    guest.password = (await admin.getByTestId('temporary-password').textContent())?.trim() ?? ''

    await other.waitForURL('**/login**')

    await steps.logIn(other, guest)
    await steps.arriveHome(other)
    await other.context().close()
  })

  it('is not there for those who are no admins', async () => {
    const page = await steps.openTab(browser, instance, '/login?redirect=/admin/users')

    await steps.logIn(page, guest)

    await steps.see(page, 'No door here')
    await page.context().close()
  })

  it('deletes a user, who is thrown out and named no more', async () => {
    await admin.goto(`${instance.origin}/admin/users`)
    await steps.press(admin, 'Delete guest')
    await steps.confirm(admin, 'Delete for good')
    await steps.see(admin, 'guest was deleted.')

    await admin.getByText('@guest').waitFor({ state: 'detached' })
  })

  it('keeps a log of all of it', async () => {
    await admin.goto(`${instance.origin}/admin/audit`)
    await steps.see(admin, 'boss')

    const lines = await admin.getByRole('listitem').allTextContents()

    for (const act of [
      /changed the settings/,
      /made the invite Open evening/,
      /revoked the invite Mistake/,
      /reset the pass/,
      /deleted the user/,
    ]) {
      expect(lines.filter((line) => act.test(line))).to.have.length.at.least(1)
    }
  })
})

/** Makes an invite for one use and gives its link. */
async function makeInvite(page: Page, instance: Instance, name: string): Promise<string> {
  await page.goto(`${instance.origin}/admin/invites`)
  await steps.press(page, 'New invite')
  await steps.fill(page, 'Name', name)
  await steps.confirm(page, 'Make invite')
  return page.getByRole('textbox', { name: `Link of ${name}` }).inputValue()
}
