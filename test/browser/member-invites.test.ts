import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { addAxe, findFaults } from './accessible.ts'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'

describe('invites of members in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let adminToken: string
  let memberToken: string

  before(async () => {
    instance = resources.use(await startInstance('members'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    adminToken = await register('first')
    memberToken = await register('mia')
    await setInvites(2)
    await patchSettings({ registrationOpen: false })
  })
  after(() => resources.disposeAsync())

  async function register(username: string): Promise<string> {
    const registered = await answered(postJson(instance, '/api/auth/register', { username, password }))
    return ((await registered.json()) as { token: string }).token
  }

  const setInvites = (memberInvites: number) => patchSettings({ memberInvites })

  async function patchSettings(settings: object): Promise<void> {
    await answered(
      fetch(`http://127.0.0.1:${instance.port}/api/settings/instance`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify(settings),
      }),
    )
  }

  it('let a member bring a friend, and admins see who brought whom', async () => {
    const options = { path: '/settings/profile', token: memberToken, prepare: addAxe }
    await using page = await actions.openPage(browser, instance, options)
    await page.getByRole('link', { name: shown('Invites'), exact: true }).click()
    await actions.waitForText(page, shown('Left now: {left}.', { left: 2 }))
    await actions.click(page, 'New invite')
    await actions.fillField(page, 'Name', 'For Fay')
    await actions.fillField(page, 'Maximum uses', '11')
    await actions.clickInDialog(page, 'Create invite')
    await actions.waitForText(page, shown('Enter a whole number between 1 and {max}.', { max: 10 }))
    await actions.fillField(page, 'Maximum uses', '1')
    await actions.clickInDialog(page, 'Create invite')
    await actions.waitForText(page, shown('Left now: {left}.', { left: 1 }))
    expect(await findFaults(page)).to.deep.equal([])
    const link = await page.getByRole('textbox', { name: shown('Link for {name}', { name: 'For Fay' }) }).inputValue()

    await using friend = await actions.openPage(browser, instance, '/login')
    await friend.goto(link)
    await actions.register(friend, { username: 'fay', password })

    await page.reload()
    await actions.waitForText(page, 'No active invites. Create one to share a link.')
    await actions.click(page, 'Inactive')
    await actions.waitForText(page, 'used up')

    await using admin = await actions.openPage(browser, instance, { path: '/admin/users', token: adminToken })
    await admin.getByRole('link', { name: '@fay' }).click()
    await admin.getByRole('link', { name: 'mia', exact: true }).click()
    await admin.getByRole('heading', { name: shown('Invited'), exact: true }).waitFor()
    await admin.getByRole('link', { name: 'fay', exact: true }).waitFor()
  })

  it('are revoked by the member, end with the month’s number, and go with the setting', async () => {
    await using page = await actions.openPage(browser, instance, { path: '/settings/invites', token: memberToken })
    await actions.click(page, 'New invite')
    await actions.fillField(page, 'Name', 'For Gus')
    await actions.clickInDialog(page, 'Create invite')
    await actions.waitForText(page, shown('You’ve created all your invites for now: {count} in 30 days.', { count: 2 }))
    await actions.click(page, 'New invite')
    await actions.fillField(page, 'Name', 'For Hal')
    await actions.clickInDialog(page, 'Create invite')
    await actions.waitForText(page, /^You’ve created all your invites for now\. Try again/)
    await actions.clickInDialog(page, 'Cancel')
    await actions.clickInDialog(page, 'Discard')

    await using admin = await actions.openPage(browser, instance, { path: '/admin/invites', token: adminToken })
    await admin.getByRole('link', { name: 'mia', exact: true }).waitFor()

    await actions.click(page, shown('Revoke {name}', { name: 'For Gus' }))
    await actions.clickInDialog(page, 'Revoke')
    await actions.waitForText(page, 'No active invites. Create one to share a link.')
    await actions.click(page, 'Inactive')
    await actions.waitForText(page, 'revoked')

    await setInvites(0)
    await page.reload()
    await page.getByRole('heading', { name: shown('Page not found') }).waitFor()
  })
})
