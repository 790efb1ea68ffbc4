import type { Page } from 'playwright-core'
import type { DialogName } from '../../services/web/src/components/dialog-names.ts'
import { farPeer, password } from './filled-instance.ts'
import { shown } from './shown.ts'

export type DialogCase = {
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

const inMenuOf = (name: string, path = '/admin/users') => ({
  path,
  menu: shown('Actions for {username}', { username: name }),
})
const inMenuOfInvite = (name: string) => inMenuOf(name, '/admin/invites')
const inMenuOfApplication = (name: string) => inMenuOf(name, '/admin/applications')
const inMenuOfPeer = (host: string) => inMenuOf(host, '/admin/federation')
export const goodCode = '123456'

async function enterPassword(page: Page): Promise<void> {
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByTestId('second-factor-key').waitFor()
}

/** Of the instance that filled-instance.ts fills. */
export const dialogCases: readonly DialogCase[] = [
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

/** dialogs.test.ts opens these, dialogs.system.test.ts the others. */
export const firstOfEachPage = dialogCases.filter(
  ({ path }, at) => dialogCases.findIndex((one) => one.path === path) === at,
)
