import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { answered, eventually } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import sharp from 'sharp'
import type { Browser, Page } from 'playwright-core'
import { type DialogName, dialogNames } from '../../services/web/src/components/dialog-names.ts'
import { addAxe, findFaults } from './accessible.ts'
import { insertJoining } from './joining.ts'
import { shown, shownText } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'
const typed = 'my pass'

type DialogCase = {
  component: DialogName
  path: string
  /** The button that opens it. */
  opener: string
  /** The button of the menu that it is in. */
  menu?: string
  /** What has the focus first. */
  first: string
  /** Whether that takes text, so that typing must not close the dialog and closing must not drop the text. */
  takesText: boolean
  open?: (page: Page) => Promise<void>
  /** Whether alice has one. */
  hasSecondFactor?: boolean
  /** What the button that opened it is called afterwards. */
  openerAfter?: string
}

const home = '/channels/@me'
/** Faster than the role, which is computed of every element. */
const openDialog = 'dialog[open]'
const inMenuOf = (name: string, path = '/admin/users') => ({
  path,
  menu: shown('Actions for {username}', { username: name }),
})
const inMenuOfInvite = (name: string) => inMenuOf(name, '/admin/invites')
const inMenuOfApplication = (name: string) => inMenuOf(name, '/admin/applications')
const inMenuOfPeer = (host: string) => inMenuOf(host, '/admin/federation')
const farPeer = 'a-long-name-of-an-instance.of.a.long.domain.example'
const goodCode = '123456'

async function enterPassword(page: Page): Promise<void> {
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByTestId('second-factor-key').waitFor()
}

/** What is answered, so that the next dialog opens. */
const answers: Record<string, object> = {
  '/recovery-link': { url: 'https://dialogs.example/recover#1.x', expiresAt: 1 },
  '/suspend': {},
  '/reset-password': { temporaryPassword: 'for a day' },
  '/second-factor': { secret: 'A'.repeat(32), otpauthUri: 'otpauth://totp/dialogs:alice' },
  '/secret': { clientSecret: 'b'.repeat(43) },
  '/confirm': { recoveryCodes: ['abcdefghjk', 'mnpqrstuvw'] },
}

const cases: DialogCase[] = [
  {
    component: 'ProfileDialog',
    path: '/settings/profile',
    opener: 'Edit profile',
    first: 'Display name',
    takesText: true,
  },
  {
    component: 'ConnectDialog',
    path: '/settings/instances',
    opener: 'Connect',
    first: 'Instance address',
    takesText: true,
  },
  {
    component: 'ConnectDialog',
    path: '/settings/instances',
    opener: shown('Connect to {host}', { host: 'b.example' }),
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'ResendDialog',
    path: '/settings/instances',
    opener: 'Update password',
    first: 'Current password',
    takesText: true,
  },
  {
    component: 'EndSessionsDialog',
    path: '/settings/sessions',
    opener: 'Log out everywhere else',
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'SetUpDialog',
    path: '/settings/security',
    hasSecondFactor: false,
    opener: 'Turn on two-factor',
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'ConfirmStep',
    path: '/settings/security',
    hasSecondFactor: false,
    opener: 'Turn on two-factor',
    first: 'Authentication code',
    takesText: true,
    open: enterPassword,
  },
  {
    component: 'RecoveryCodes',
    path: '/settings/security',
    hasSecondFactor: false,
    opener: 'Turn on two-factor',
    first: 'Copy recovery codes',
    openerAfter: 'Turn off two-factor',
    takesText: false,
    open: async (page) => {
      await enterPassword(page)
      await page.getByRole('textbox', { name: shown('Authentication code') }).pressSequentially(goodCode)
      await page.keyboard.press('Enter')
      await page.getByTestId('recovery-codes').waitFor()
    },
  },
  {
    component: 'RenewCodesDialog',
    path: '/settings/security',
    opener: 'Generate new codes',
    first: 'Your password',
    takesText: true,
    hasSecondFactor: true,
  },
  {
    component: 'TurnOffDialog',
    path: '/settings/security',
    opener: 'Turn off two-factor',
    first: 'Your password',
    takesText: true,
    hasSecondFactor: true,
  },
  {
    component: 'EmailDialog',
    path: '/settings/security',
    opener: 'Change email address',
    first: 'Email address',
    takesText: true,
  },
  {
    component: 'SendLinkDialog',
    path: '/settings/security',
    opener: 'Send again',
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'RemoveEmailDialog',
    path: '/settings/security',
    opener: 'Remove email address',
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'InviteDialog',
    path: '/settings/invites',
    opener: 'New invite',
    first: 'Name',
    takesText: true,
  },
  {
    component: 'RevokeOwnInviteDialog',
    path: '/settings/invites',
    opener: shown('Revoke {name}', { name: 'Friends' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'AddPasskeyDialog',
    path: '/settings/security',
    opener: 'Add a passkey',
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'RemovePasskeyDialog',
    path: '/settings/security',
    opener: shown('Remove passkey {name}', { name: 'phone' }),
    first: 'Your password',
    takesText: true,
  },
  {
    component: 'UnlinkIdentityDialog',
    path: '/settings/security',
    opener: shown('Remove {provider}', { provider: 'uni' }),
    first: 'Your password',
    takesText: true,
  },
  { component: 'ExportDialog', path: '/settings/data', opener: 'Download', first: 'Your password', takesText: true },
  {
    component: 'DeleteIdentitiesDialog',
    path: '/settings/leave',
    opener: 'Choose instances…',
    first: 'b.example',
    takesText: false,
  },
  {
    component: 'DeleteAccountDialog',
    path: '/settings/leave',
    opener: 'Delete account',
    first: 'Your username',
    takesText: true,
  },
  {
    component: 'RoleDialog',
    ...inMenuOf('bert'),
    opener: shown('Make admin: {username}', { username: 'bert' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'RecoveryLinkDialog',
    ...inMenuOf('bert'),
    opener: shown('Password reset link for {username}', { username: 'bert' }),
    first: 'Create link',
    takesText: false,
  },
  {
    component: 'RecoveryLink',
    ...inMenuOf('bert'),
    opener: shown('Password reset link for {username}', { username: 'bert' }),
    first: 'Copy reset link',
    takesText: false,
    open: (page) => page.keyboard.press('Enter'),
  },
  {
    component: 'SuspendDialog',
    ...inMenuOf('bert'),
    opener: shown('Suspend {username}', { username: 'bert' }),
    first: 'Reason',
    takesText: true,
  },
  {
    component: 'UnsuspendDialog',
    ...inMenuOf('carl'),
    opener: shown('Unsuspend {username}', { username: 'carl' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'ResetPasswordDialog',
    ...inMenuOf('bert'),
    opener: shown('Temporary password for {username}', { username: 'bert' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'TemporaryPassword',
    ...inMenuOf('bert'),
    opener: shown('Temporary password for {username}', { username: 'bert' }),
    first: 'Copy temporary password',
    takesText: false,
    open: async (page) => {
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByTestId('temporary-password').waitFor()
    },
  },
  {
    component: 'EndUserSessionsDialog',
    ...inMenuOf('bert'),
    opener: shown('Log out everywhere: {username}', { username: 'bert' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'RemoveSecondFactorDialog',
    ...inMenuOf('bert'),
    opener: shown('Turn off two-factor for {username}', { username: 'bert' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'BulkSuspendDialog',
    ...inMenuOfInvite('Friends'),
    opener: shown('Suspend everyone who used it: {name}', { name: 'Friends' }),
    first: 'Reason',
    takesText: true,
  },
  {
    component: 'BulkSuspendOutcome',
    ...inMenuOfInvite('Friends'),
    opener: shown('Suspend everyone who used it: {name}', { name: 'Friends' }),
    first: 'Done',
    takesText: false,
    open: (page) => page.keyboard.press('Enter'),
  },
  {
    component: 'DeleteUserDialog',
    ...inMenuOf('bert'),
    opener: shown('Delete {name}', { name: 'bert' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'ApproveRegistrationsDialog',
    path: '/admin/registrations',
    menu: 'Select all',
    opener: 'Approve',
    first: 'Cancel',
    takesText: false,
    openerAfter: 'Approve',
  },
  {
    component: 'BlockNetworksDialog',
    path: '/admin/registrations',
    menu: 'Select all',
    opener: 'Deny and block',
    first: 'Reason',
    takesText: true,
    openerAfter: 'Deny and block',
  },
  { component: 'InviteDialog', path: '/admin/invites', opener: 'New invite', first: 'Name', takesText: true },
  {
    component: 'InviteDialog',
    ...inMenuOfInvite('Friends'),
    opener: shown('Edit {name}', { name: 'Friends' }),
    first: 'Name',
    takesText: true,
  },
  {
    component: 'RevokeDialog',
    ...inMenuOfInvite('Friends'),
    opener: shown('Revoke {name}', { name: 'Friends' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'DeleteInviteDialog',
    ...inMenuOfInvite('Friends'),
    opener: shown('Delete {name}', { name: 'Friends' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'RedemptionsDialog',
    ...inMenuOfInvite('Friends'),
    opener: shown('Used by: {name}', { name: 'Friends' }),
    first: 'Done',
    takesText: false,
  },
  {
    component: 'ReinstateDialog',
    ...inMenuOfInvite('Old'),
    opener: shown('Reinstate {name}', { name: 'Old' }),
    first: 'Maximum uses',
    takesText: true,
  },
  {
    component: 'EndApplicationDialog',
    path: '/settings/applications',
    opener: shown('End access of {name}', { name: 'Wiki' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'ApplicationDialog',
    path: '/admin/applications',
    opener: 'New application',
    first: 'Name',
    takesText: true,
  },
  {
    component: 'ApplicationDialog',
    ...inMenuOfApplication('Wiki'),
    opener: shown('Edit {name}', { name: 'Wiki' }),
    first: 'Name',
    takesText: true,
  },
  {
    component: 'RenewSecretDialog',
    ...inMenuOfApplication('Wiki'),
    opener: shown('New secret for {name}', { name: 'Wiki' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'ApplicationCredentials',
    ...inMenuOfApplication('Wiki'),
    opener: shown('New secret for {name}', { name: 'Wiki' }),
    first: 'Copy client secret',
    takesText: false,
    open: async (page) => {
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog', { name: shown('Set up {name}', { name: 'Wiki' }) }).waitFor()
    },
  },
  {
    component: 'SuspendApplicationDialog',
    ...inMenuOfApplication('Wiki'),
    opener: shown('Suspend {name}', { name: 'Wiki' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'UnsuspendApplicationDialog',
    ...inMenuOfApplication('Forum'),
    opener: shown('Unsuspend {name}', { name: 'Forum' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'DeleteApplicationDialog',
    ...inMenuOfApplication('Wiki'),
    opener: shown('Delete {name}', { name: 'Wiki' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'RotationDialog',
    ...inMenuOfPeer('b.example'),
    opener: shown('Rotate secret for {host}', { host: 'b.example' }),
    first: 'Rotate every (days)',
    takesText: true,
  },
  {
    component: 'RevokePeerDialog',
    ...inMenuOfPeer('b.example'),
    opener: shown('End peering with {name}', { name: 'b.example' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'ResetDialog',
    ...inMenuOfPeer('c.example'),
    opener: shown('Reset peering with {name}', { name: 'c.example' }),
    first: 'Cancel',
    takesText: false,
  },
  {
    component: 'ForgetDialog',
    ...inMenuOfPeer(farPeer),
    opener: shown('Remove from list: {name}', { name: farPeer }),
    first: 'Cancel',
    takesText: false,
  },
]

/** Those with a test of their own: they stand in other dialogs, or need an identity provider. */
const otherwise: readonly DialogName[] = ['CropDialog', 'DiscardDialog', 'LinkIdentityDialog']

describe('every dialog by keyboard alone', function () {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let page: Page
  let changes: string[]

  before(async () => {
    instance = resources.use(await startInstance('dialogs', { smtpUrl: 'smtp://127.0.0.1:9' }))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const { token, user } = await register('alice')
    await register('bert')
    await register('carl')
    await instance.runSql("update users set suspended_at = 1, suspended_reason = 'spam' where username = 'carl'")
    await instance.runSql("update users set second_factor = true where username = 'bert'")
    await instance.runSql('update instance_settings set member_invites = 5')
    await insertJoining(instance)
    await instance.runSql(
      `insert into applications (id, name, type, redirect_uris, post_logout_redirect_uris, signals_uri, skip_consent,
         access_tokens, suspended_at, created_at)
       values (1, 'Wiki', 'confidential', '["https://wiki.example/cb"]', '[]', 'https://wiki.example/s', false,
           'opaque', null, now()),
         (2, 'Forum', 'public', '["com.example.forum:/cb"]', '[]', null, true, 'jwt', now(), now())`,
    )
    await instance.runSql(
      `insert into application_consents (account_id, application_id, scopes, granted_at)
       select id, 1, '["openid", "profile"]', now() from users where username = 'alice'`,
    )
    await instance.runSql(
      `insert into passkeys (id, user_id, credential_id, public_key, counter, name, created_at)
       select 1, id, 'id', 'key', 0, 'phone', now() from users where username = 'alice'`,
    )
    await instance.runSql(
      `insert into linked_identities (id, user_id, provider, issuer, subject, linked_at)
       select 1, id, 'uni', 'https://uni.example', '1', now() from users where username = 'alice'`,
    )
    await instance.runSql(
      `insert into peers (id, origin, host, secret, status, activated_at)
       values (1, 'https://b.example', 'b.example', 'none', 'active', now()),
         (2, 'https://c.example', 'c.example', 'none', 'needs_attention', now()),
         (3, 'https://${farPeer}', '${farPeer}', 'none', 'revoked', now())`,
    )
    await answered(postJson(instance, '/api/admin/invites', { name: 'Friends', maxUses: 3, expiresAt: null }, token))
    await answered(postJson(instance, '/api/admin/invites', { name: 'Old', maxUses: 3, expiresAt: null }, token))
    await instance.runSql("update invites set used_count = 1, by_member = true where name = 'Friends'")
    await instance.runSql(
      `insert into invite_redemptions (id, invite_id, user_id, registrant_username, redeemed_at)
       select next_snowflake(), invites.id, users.id, username, now() from invites, users
       where name = 'Friends' and username = 'bert'`,
    )
    await instance.runSql("update invites set expires_at = now() - interval '1 day' where name = 'Old'")
    await instance.runSql("update users set replicated_instances = ? where username = 'alice'", [
      JSON.stringify([{ origin: 'https://b.example', username: 'alice' }]),
    ])
    const context = await browser.newContext({ reducedMotion: 'reduce' })
    await addAxe(context)
    page = await context.newPage()
    const remote = { origin: 'https://b.example', username: 'alice', token: null, pendingPasswordSync: true }
    await page.addInitScript(
      ([storedToken, remotes]) => {
        localStorage.setItem('service_token', storedToken)
        localStorage.setItem('service_remotes', remotes)
      },
      [token, JSON.stringify({ userId: user.id, remotes: [remote] })] as const,
    )
    // Nothing that a key could set off reaches the instance.
    await page.route('**/api/**', (route) => {
      const request = route.request()
      if (request.method() === 'GET') return route.continue()
      const ending = /\/[^/]*$/.exec(request.url())?.[0] ?? ''
      const needed = { '/second-factor': password, '/confirm': goodCode, '/suspend': '"reason":""' }[ending] ?? ''
      const isRight = needed === '' || request.postData()?.includes(needed)
      if (ending in answers && isRight) return route.fulfill({ json: answers[ending] })
      changes.push(new URL(request.url()).pathname)
      return route.abort()
    })
  })

  beforeEach(() => {
    changes = []
  })

  // What a failed test leaves open would fail the others.
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await page.goto('about:blank')
  })

  after(() => resources.disposeAsync())

  it('is in this list', () => {
    const tested = [...cases.map(({ component }) => component), ...otherwise]

    expect(dialogNames.filter((name) => !tested.includes(name))).to.deep.equal([])
  })

  it('has a name that no other has, and is made by the one component that shows it', () => {
    const sources = readSources()
    const countUses = (name: string) => sources.join('').split(new RegExp(`['"]${name}['"]`)).length - 1

    expect(dialogNames.filter((name) => countUses(name) !== 1)).to.deep.equal([])
    expect(sources.filter((source) => /<dialog\b/.test(source))).to.have.length(1)
  })

  for (const entry of cases) {
    const { component, opener, menu = opener, first, takesText } = entry
    it(`${component} by “${opener}” focuses “${first}”, keeps the focus inside, gives it back, and has no axe violation, no unclear name and no horizontal overflow`, async () => {
      await openByKeyboard(entry)
      await expectFocus(first)
      expect(await findFaults(page, { within: openDialog })).to.deep.equal([])

      await tabOnceAround()
      await page.keyboard.press('Escape')

      await expectClosed(entry.openerAfter ?? menu)
      expect(changes).to.deep.equal([])
    })

    if (takesText) {
      it(`${component} by “${opener}” takes what is typed, asks before it drops it, and stays open when Enter could not send it`, async () => {
        await openByKeyboard(entry)
        const field = page.locator(`#${await page.evaluate(() => document.activeElement?.id)}`)
        const before = await field.inputValue()
        await page.keyboard.type(typed)
        expect(await field.inputValue()).to.equal(before + typed)

        for (const leave of [
          () => page.keyboard.press('Escape'),
          () => page.keyboard.press('Escape'),
          () => pressButton(page, 'Cancel'),
          () => pressButton(page, 'Close'),
        ]) {
          await leave()
          await question(page).waitFor()
          await expectFocus('Keep editing')
          await page.keyboard.press('Escape')
          await question(page).waitFor({ state: 'detached' })
          expect(await isFocusInside(page)).to.equal(true)
        }
        expect(await field.inputValue()).to.equal(before + typed)
        expect(changes).to.deep.equal([])

        await field.focus()
        await page.keyboard.press('Enter')
        await page.getByRole('dialog').locator('[aria-invalid=true], .form-message--error .icon').first().waitFor()

        const changesBefore = [...changes]
        await page.keyboard.press('Escape')
        await page.keyboard.press('Tab')
        await expectFocus('Discard')
        await page.keyboard.press('Enter')

        await expectClosed(entry.openerAfter ?? menu)
        expect(changes).to.deep.equal(changesBefore)
      })
    } else if (first === 'Cancel' || first === 'Done') {
      it(`${component} by “${opener}” does nothing on the space of somebody who types, nor on Enter`, async () => {
        await openByKeyboard(entry)
        await page.keyboard.type(typed.slice(0, 3))
        await expectClosed(entry.openerAfter ?? menu)
        await openByKeyboard(entry)
        await page.keyboard.press('Enter')
        await expectClosed(entry.openerAfter ?? menu)
        expect(changes).to.deep.equal([])
      })
    }
  }

  it('CropDialog takes the picture with Enter, and Escape leaves the dialog behind it open', async () => {
    const picture = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'teal' } })
      .png()
      .toBuffer()
    const choose = () =>
      page.locator('#avatar-file').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: picture })
    const crop = page.getByRole('dialog', { name: shown('Crop image') })
    await openByKeyboard(cases[0]!)
    await choose()
    await crop.waitFor()
    await expectFocus('Use this image')
    await page.keyboard.press('Escape')
    await crop.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: shown('Choose image') }).waitFor()

    await choose()
    await crop.waitFor()
    expect(await findFaults(page, { within: openDialog })).to.deep.equal([])
    await page.keyboard.press('Enter')

    await crop.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: shown('Change image') }).waitFor()
    await page.keyboard.press('Escape')
    await question(page).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expectClosed('Edit profile')
    expect(changes).to.deep.equal([])
  })

  it('stays open when a file chooser is cancelled, asks for a switch that was turned, and not when nothing differs', async () => {
    await openByKeyboard(cases[0]!)
    const dialog = page.getByRole('dialog')
    await page.locator('#banner-file').dispatchEvent('cancel', { bubbles: true })
    expect(await dialog.count()).to.equal(1)

    const visible = page.getByRole('switch', { name: shown('Appear in search') })
    await visible.focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('Escape')
    await question(page).waitFor()
    expect(await findFaults(page, { within: openDialog })).to.deep.equal([])
    await page.keyboard.press('Enter')
    await question(page).waitFor({ state: 'detached' })
    await expectFocus('Appear in search')
    await page.keyboard.press('Space')
    await page.keyboard.press('Escape')

    await expectClosed('Edit profile')
  })

  it('gives the focus back where one dialog follows another', async () => {
    await openByKeyboard(cases.find(({ component }) => component === 'DeleteAccountDialog')!)
    await pressButton(page, 'Download your data first')
    await page.getByRole('dialog', { name: shown('Download your data') }).waitFor()
    await expectFocus('Your password')

    await page.keyboard.press('Escape')

    await expectClosed('Delete account')
  })

  it('comes after the link that skips to the content, the first on every fresh page', async () => {
    for (const path of [home, '/admin/users', '/admin/settings', '/']) {
      await page.goto(instance.origin + path)
      await page.getByRole('contentinfo').getByText(shown('Connected')).waitFor()
      // The frame of a page that still loads looks the same, and goes with what has the focus.
      await eventually('the page is loaded', async () => !(await page.title()).startsWith('Loading…'))
      await page.keyboard.press('Tab')
      await expectFocus('Skip to content')
    }
  })

  async function register(username: string): Promise<{ token: string; user: { id: string } }> {
    return (await postJson(instance, '/api/auth/register', { username, password })).json() as never
  }

  async function openByKeyboard(entry: DialogCase): Promise<void> {
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
  async function tabOnceAround(): Promise<void> {
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

  async function expectFocus(name: string): Promise<void> {
    await eventually(`“${name}” has the focus`, async () => {
      expect(await focusedName(page), page.url()).to.equal(name)
      return true
    })
  }

  async function expectClosed(opener: string): Promise<void> {
    await page.locator(openDialog).waitFor({ state: 'detached' })
    await expectFocus(opener)
  }
})

const question = (page: Page) => page.getByRole('dialog', { name: shown('Discard unsaved changes?') })

async function pressButton(page: Page, name: string): Promise<void> {
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

/** Of the web app, without the list of the names. */
function readSources(): string[] {
  const folder = join(import.meta.dirname, '../../services/web/src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.tsx'))
  return files.map((file) => readFileSync(join(folder, file), 'utf8'))
}
