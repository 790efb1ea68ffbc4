import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown } from './shown.ts'
import { startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const adminAccount = { username: 'alice', password: 'a long password' }
const guest = { username: 'guest', password: 'a long password' }

describe('the administration in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let admin: Page

  before(async () => {
    instance = resources.use(await startInstance('administration'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    admin = await actions.openPage(browser, instance, '/register')
    await actions.register(admin, adminAccount)
  })

  after(() => resources.disposeAsync())

  it('closes the registration, and lets one user register with an invite', async () => {
    await admin.goto(`${instance.origin}/admin/settings`)
    await admin.getByLabel(shown('Invite only')).check()
    await actions.waitForText(admin, 'Changes saved.')
    const visitor = await actions.openPage(browser, instance, '/register')
    await actions.waitForText(visitor, 'You need an invite to create an account.')

    await visitor.goto(await createInvite(admin, instance, 'Open evening'))
    await actions.waitForText(visitor, 'Your invite: Open evening')
    await actions.register(visitor, guest)

    await admin.reload()
    await actions.click(admin, 'Inactive')
    await actions.clickInMenu(admin, 'Open evening', shown('Used by: {name}', { name: 'Open evening' }))
    await admin.getByRole('dialog').getByText('guest').waitFor()
    await visitor.context().close()
  })

  it('refuses a revoked invite', async () => {
    const link = await createInvite(admin, instance, 'Mistake')
    await actions.clickInMenu(admin, 'Mistake', shown('Revoke {name}', { name: 'Mistake' }))
    await actions.clickInDialog(admin, 'Revoke')
    await actions.waitForText(admin, shown('{name} revoked.', { name: 'Mistake' }))

    const visitor = await actions.openPage(browser, instance, new URL(link).pathname + new URL(link).search)

    await actions.waitForText(visitor, /^This invite link isn’t valid/)
    await visitor.context().close()
  })

  it('resets a password, which ends the session of the user at once, and shows a temporary one', async () => {
    const guestPage = await actions.openPage(browser, instance, '/login')
    await actions.logIn(guestPage, guest)
    await actions.waitForHomePage(guestPage)
    await actions.waitForText(guestPage, 'Online')
    await admin.goto(`${instance.origin}/admin/users`)
    await actions.clickInMenu(admin, 'guest', shown('Temporary password for {username}', { username: 'guest' }))
    await actions.clickInDialog(admin, 'Reset password')
    guest.password = (await admin.getByTestId('temporary-password').textContent())?.trim() ?? ''

    await guestPage.waitForURL('**/login**')

    await actions.logIn(guestPage, guest)

    await guestPage.getByRole('heading', { name: shown('Set a new password') }).waitFor()
    await guestPage.goto(`${instance.origin}/admin/users`)
    await guestPage.getByRole('heading', { name: shown('Set a new password') }).waitFor()
    await actions.changePassword(guestPage, guest.password, 'a password of my own')
    guest.password = 'a password of my own'
    await guestPage.goto(instance.origin)
    await actions.waitForHomePage(guestPage)
    await guestPage.context().close()
  })

  it('gives a link by which the person chooses a new password, and is logged in', async () => {
    await admin.goto(`${instance.origin}/admin/users`)
    await actions.clickInMenu(admin, 'guest', shown('Password reset link for {username}', { username: 'guest' }))
    await actions.clickInDialog(admin, 'Create link')
    const link = await admin
      .getByRole('textbox', { name: shown('Password reset link for {username}', { username: 'guest' }) })
      .inputValue()
    expect(link).to.match(/^http.*\/recover#\d+\.[\w-]{43}$/)
    const path = link.slice(new URL(link).origin.length)
    const guestPage = await actions.openPage(browser, instance, path)
    await actions.fillField(guestPage, 'New password', 'chosen by a link')
    await actions.fillField(guestPage, 'Confirm new password', 'not the same')
    await actions.click(guestPage, 'Change password')
    await actions.waitForText(guestPage, 'The passwords don’t match.')

    await actions.fillField(guestPage, 'Confirm new password', 'chosen by a link')
    await actions.click(guestPage, 'Change password')
    await actions.waitForHomePage(guestPage)
    guest.password = 'chosen by a link'

    const late = await actions.openPage(browser, instance, path)
    await actions.fillField(late, 'New password', 'too late by a bit')
    await actions.fillField(late, 'Confirm new password', 'too late by a bit')
    await actions.click(late, 'Change password')
    await actions.waitForText(late, 'This link no longer works.')
    await late.goto(`${instance.origin}/recover`)
    await actions.waitForText(late, 'This link is incomplete.')
    await late.context().close()
    await guestPage.context().close()
  })

  /** Contract: 5, A user. */
  it('has a page for each user, which a reload and the way back keep', async () => {
    await admin.goto(`${instance.origin}/admin/users`)
    await admin.getByLabel(shown('Sort by')).selectOption('az')
    await admin.getByRole('link', { name: '@guest' }).click()
    await admin.waitForURL(/\/admin\/users\/\d+$/)
    await actions.waitForText(admin, 'created a password reset link for user')

    await admin.reload()
    await actions.waitForText(admin, 'Active now')
    await actions.clickInMenu(admin, 'guest', shown('Log out everywhere: {username}', { username: 'guest' }))
    await actions.clickInDialog(admin, 'Log out everywhere')
    await actions.waitForText(admin, shown('{username} is logged out everywhere.', { username: 'guest' }))
    await actions.waitForText(admin, 'logged user guest out everywhere')
    await actions.click(admin, shown('Actions for {username}', { username: 'guest' }))
    expect(await admin.getByRole('button', { name: shown('Turn off two-factor') }).count()).to.equal(0)

    await admin.goto(`${instance.origin}/admin/users`)
    await admin.getByLabel(shown('Sort by')).selectOption('za')
    await admin.getByRole('link', { name: '@guest' }).click()
    await admin.getByRole('heading', { name: shown('Recent activity') }).waitFor()
    await admin.goBack()
    expect(await admin.getByLabel(shown('Sort by')).inputValue()).to.equal('za')
  })

  it('suspends a user, who is told why, and takes the logins again', async () => {
    const guestPage = await actions.openPage(browser, instance, '/login')
    await actions.logIn(guestPage, guest)
    await actions.waitForHomePage(guestPage)
    await actions.waitForText(guestPage, 'Online')
    await admin.goto(`${instance.origin}/admin/users`)
    await actions.clickInMenu(admin, 'guest', shown('Suspend {username}', { username: 'guest' }))
    await actions.fillField(admin, 'Reason', 'too loud')
    await actions.clickInDialog(admin, 'Suspend')
    await actions.waitForText(admin, 'Suspended')

    await guestPage.waitForURL('**/login**')
    await actions.waitForText(guestPage, 'Your account has been suspended by an admin.')
    await actions.logIn(guestPage, guest)
    await actions.waitForText(guestPage, 'This account is suspended: too loud')

    await actions.clickInMenu(admin, 'guest', shown('Unsuspend {username}', { username: 'guest' }))
    await actions.waitForText(admin, shown('Reason: {reason}', { reason: 'too loud' }))
    await actions.clickInDialog(admin, 'Unsuspend')
    await actions.waitForText(admin, shown('{username} can log in again.', { username: 'guest' }))
    await actions.logIn(guestPage, guest)
    await actions.waitForHomePage(guestPage)
    await guestPage.context().close()
  })

  it('does not exist for users who are not admins', async () => {
    const page = await actions.openPage(browser, instance, '/login?redirect=/admin/users')

    await actions.logIn(page, guest)

    await actions.waitForText(page, 'Page not found')
    await page.getByRole('navigation', { name: shown('Main') }).waitFor()
    await page.context().close()
  })

  it('deletes a user, who is then no longer listed', async () => {
    await admin.goto(`${instance.origin}/admin/users`)
    await actions.clickInMenu(admin, 'guest', shown('Delete {name}', { name: 'guest' }))
    expect(await admin.getByRole('dialog').getByText(shown('On the other instances')).count()).to.equal(0)
    await actions.clickInDialog(admin, 'Delete permanently')
    await actions.waitForText(admin, shown('{username} was deleted.', { username: 'guest' }))

    await admin.getByText('@guest').waitFor({ state: 'detached' })
  })

  /** Contract: 5, DELETE users, A user. */
  it('says before a deletion at which peers it is ordered, and afterwards what became of it', async () => {
    const origin = 'https://peer.example'
    await instance.runSql(
      "insert into peers (id, origin, host, secret, status) values (1, ?, 'peer.example', '', 'needs_attention')",
      [origin],
    )
    const named = JSON.stringify([{ origin, username: 'traveller@administration.localhost' }])
    await instance.runSql(
      "insert into users (id, username, password_hash, replicated_instances) values (78, 'traveller', '!', ?)",
      [named],
    )
    await admin.goto(`${instance.origin}/admin/users`)
    await admin.getByRole('link', { name: '@traveller' }).click()

    await actions.clickInMenu(admin, 'traveller', shown('Suspend {username}', { username: 'traveller' }))
    await admin.getByRole('dialog').getByText('Peers where the user has an account are notified').waitFor()
    await actions.clickInDialog(admin, 'Cancel')
    await actions.clickInMenu(admin, 'traveller', shown('Delete {name}', { name: 'traveller' }))
    const dialog = admin.getByRole('dialog')
    await dialog.getByText('asked to delete the account too: 1 (peer.example).').waitFor()
    expect(await dialog.getByRole('radio', { name: /^Keep the messages/ }).isChecked()).to.equal(true)
    await dialog.getByRole('radio', { name: /^Delete the messages too/ }).check()
    await actions.clickInDialog(admin, 'Delete permanently')

    await actions.waitForText(
      admin,
      shown(
        '{username} was deleted. Other instances that have been asked to delete the account: {count}. The user’s page shows the progress.',
        { username: 'traveller', count: 1 },
      ),
    )
    const card = admin
      .getByRole('heading', { name: shown('Deletion on other instances') })
      .locator('..')
      .locator('..')
    await card.getByText(shown('is being asked')).waitFor()
    await card.getByText(shown('attempts: {attempts}', { attempts: 1 })).waitFor()
    await instance.runSql("update deletion_orders set state = 'done', next_attempt_at = null")
    await admin.reload()
    await card.getByText(shown('has deleted it')).waitFor()
    const [order] = (await instance.runSql('select mode from deletion_orders')) as { mode: string }[]
    expect(order?.mode).to.equal('full')
  })

  /** Contract: 7, Account states. */
  it('shows who is suspended by the home, and lifts that', async () => {
    await instance.runSql(
      `insert into users (id, username, password_hash, home_instance, home_user_id, home_suspended_at)
       values (77, 'far@home.example', '!', 'home.example', '7', 1)`,
    )
    await admin.goto(`${instance.origin}/admin/users`)
    await admin.getByText(shown('Suspended by home instance')).waitFor()
    await admin.goto(`${instance.origin}/admin/users/77`)
    await admin.getByText(shown('Suspended by home instance')).first().waitFor()
    await actions.clickInMenu(
      admin,
      'far@home.example',
      shown('Unsuspend {username}', { username: 'far@home.example' }),
    )
    await admin.getByRole('dialog').getByText('This account’s home instance suspended it.').waitFor()
    await actions.clickInDialog(admin, 'Unsuspend')

    await actions.waitForText(admin, shown('{username} can log in again.', { username: 'far@home.example' }))
    await admin.getByText(shown('Suspended by home instance')).first().waitFor({ state: 'detached' })
  })

  it('follows what others change, without a reload', async () => {
    await admin.goto(`${instance.origin}/admin/settings`)
    const follower = await admin.context().newPage()
    await follower.goto(`${instance.origin}/admin/settings`)
    await follower.getByRole('radio', { name: /^Invite only/, checked: true }).waitFor()

    await admin.getByRole('radio', { name: /^Open/ }).check()
    await follower.getByRole('radio', { name: /^Open/, checked: true }).waitFor()

    await follower.goto(`${instance.origin}/admin/users`)
    await actions.waitForText(follower, '@alice')
    const visitor = await actions.openPage(browser, instance, '/register')
    await actions.register(visitor, { username: 'latecomer', password: 'a long password' })
    await actions.waitForText(follower, '@latecomer')

    await follower.goto(`${instance.origin}/admin/invites`)
    await actions.waitForText(follower, 'No active invites.')
    await createInvite(admin, instance, 'Seen at once')
    await actions.waitForText(follower, 'Seen at once')
    await visitor.context().close()
    await follower.close()
  })

  it('lists these actions in the audit log', async () => {
    await admin.goto(`${instance.origin}/admin/audit`)
    await actions.waitForText(admin, 'alice')

    const lines = await admin.getByRole('listitem').allTextContents()

    for (const action of [
      /changed the settings/,
      /created invite Open evening/,
      /revoked invite Mistake/,
      /reset the password of user/,
      /deleted user/,
    ]) {
      expect(lines.filter((line) => action.test(line))).to.have.length.at.least(1)
    }
  })
})

/** Creates an invite for one use and gives its link. */
async function createInvite(page: Page, instance: Instance, name: string): Promise<string> {
  await page.goto(`${instance.origin}/admin/invites`)
  await actions.click(page, 'New invite')
  await actions.fillField(page, 'Name', name)
  await actions.clickInDialog(page, 'Create invite')
  return page.getByRole('textbox', { name: shown('Link for {name}', { name }) }).inputValue()
}
