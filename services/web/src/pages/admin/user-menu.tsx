import { listOwnedSpaces, type DeletionMode, type RecoveryLink, type User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { RadioGroup } from '../../components/choices.tsx'
import { CopyButton, LinkField } from '../../components/copy-field.tsx'
import { OwnedSpaces } from '../../components/deletion-results.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { Field, useText } from '../../components/field.tsx'
import { formatDateTime, formatNumber, hostOf } from '../../components/format.ts'
import { Menu } from '../../components/menu.tsx'
import { Badge, Notice } from '../../components/status.tsx'
import { useClient, useMutation, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { askBefore, type RowDialogProps, useRowDialog } from './row-dialog.tsx'

export function UserBadges({ user, self }: { user: User; self: User }) {
  return (
    <>
      {user.isAdmin && <Badge tone="warning">{t('Admin')}</Badge>}
      {user.id === self.id && <Badge tone="good">{t('You')}</Badge>}
      {user.suspendedAt != null && <Badge tone="bad">{t('Suspended')}</Badge>}
      {user.homeSuspendedAt != null && <Badge tone="bad">{t('Suspended by home instance')}</Badge>}
      {user.isDeleted && <Badge>{t('Deleted')}</Badge>}
    </>
  )
}

/** Everything that an admin can do with an account. Contract: 5, a user. */
export function UserMenu({ user, self, onChanged }: { user: User; self: User; onChanged: () => void }) {
  const { isAdmin, username } = user
  const isSelf = user.id === self.id
  const { item, dialog } = useRowDialog({ row: user, name: username, isSelf, onDone: onChanged })
  const isLocal = !user.homeInstance
  const isSuspendedHere = user.suspendedAt != null
  const isSuspended = isSuspendedHere || user.homeSuspendedAt != null
  return (
    <>
      <Menu label={t('Actions for {username}', { username })}>
        {isAdmin && item('Remove as admin', 'Remove as admin: {username}', RoleDialog)}
        {!isAdmin && isLocal && item('Make admin', 'Make admin: {username}', RoleDialog)}
        {isLocal &&
          !isSuspended &&
          item('Password reset link', 'Password reset link for {username}', RecoveryLinkDialog)}
        {isLocal && item('Temporary password', 'Temporary password for {username}', ResetPasswordDialog)}
        {user.secondFactor &&
          item('Turn off two-factor', 'Turn off two-factor for {username}', RemoveSecondFactorDialog)}
        {item('Log out everywhere', 'Log out everywhere: {username}', EndUserSessionsDialog, { disabled: isSelf })}
        {isLocal &&
          !isSuspendedHere &&
          item('Suspend', 'Suspend {username}', SuspendDialog, { dangerous: true, disabled: isSelf })}
        {isSuspended && item('Unsuspend', 'Unsuspend {username}', UnsuspendDialog)}
        {item('Delete', 'Delete {username}', DeleteUserDialog, { dangerous: true, disabled: isSelf })}
      </Menu>
      {dialog}
    </>
  )
}

type UserDialogProps = RowDialogProps<User> & { isSelf: boolean }

function RoleDialog({ row: user, name: username, isSelf, onClose, onDone }: UserDialogProps) {
  const client = useClient()
  const promote = !user.isAdmin
  const follow = () => {
    const self = client.session.getSnapshot().user
    if (isSelf && self) client.session.setUser({ ...self, isAdmin: promote })
    else onDone()
  }
  const demotion = isSelf
    ? 'You won’t be able to open this page anymore. If you’re the last admin, make someone else an admin first.'
    : 'This user keeps their account but can’t open the admin pages anymore.'
  return (
    <ConfirmDialog
      dialog="RoleDialog"
      title={t(promote ? 'Make {username} an admin' : 'Remove {username} as admin?', { username })}
      text={
        promote
          ? 'Admins can see and delete all accounts, reset passwords and change this instance’s settings.'
          : demotion
      }
      submit={t(promote ? 'Make admin' : 'Remove as admin')}
      dangerous={!promote}
      done={t(promote ? '{username} is now an admin.' : '{username} is no longer an admin.', { username })}
      act={() => client.call('setRole', { params: { id: user.id }, body: { isAdmin: promote } })}
      onDone={follow}
      onClose={onClose}
    />
  )
}

function SuspendDialog({ row: user, name: username, ...props }: UserDialogProps) {
  const reason = useText()
  return (
    <ConfirmDialog
      dialog="SuspendDialog"
      title={t('Suspend {username}', { username })}
      text="This logs the user out everywhere and blocks their logins until you unsuspend them. Peers where the user has an account are notified and do the same. Nothing is deleted."
      submit={t('Suspend')}
      dangerous
      done={t('{username} suspended.', { username })}
      act={(_, client) => client.call('suspendUser', { params: { id: user.id }, body: { reason: reason.value } })}
      {...props}
    >
      <ReasonField {...reason} />
    </ConfirmDialog>
  )
}

export function ReasonField(field: ReturnType<typeof useText>) {
  return (
    <Field
      label={t('Reason')}
      name="reason"
      optional
      maxLength={limits.suspensionReasonMax}
      hint={t('Shown to the user when they try to log in.')}
      {...field}
    />
  )
}

const UnsuspendDialog = askBefore<User>({
  dialog: 'UnsuspendDialog',
  title: 'Unsuspend {username}',
  text: 'The user can log in again. They’ll need to log in on each device.',
  submit: 'Unsuspend',
  act: (client, { id }) => client.call('unsuspendUser', { params: { id } }),
  done: '{username} can log in again.',
  more: ({ suspendedReason: reason, homeSuspendedAt }) => (
    <>
      {reason && <p className="muted">{t('Reason: {reason}', { reason })}</p>}
      {homeSuspendedAt != null && (
        <Notice
          tone="warning"
          text="This account’s home instance suspended it. If you unsuspend it, it can be used here until the home instance suspends it again."
        />
      )}
    </>
  ),
})

const EndUserSessionsDialog = askBefore<User>({
  dialog: 'EndUserSessionsDialog',
  title: 'Log out {username} everywhere',
  text: 'This logs the user out everywhere. They can log in again with the same password.',
  submit: 'Log out everywhere',
  act: (client, { id }) => client.call('endUserSessions', { params: { id } }),
  done: '{username} is logged out everywhere.',
})

const RemoveSecondFactorDialog = askBefore<User>({
  dialog: 'RemoveSecondFactorDialog',
  title: 'Turn off two-factor for {username}?',
  text: 'Use this when someone has lost both their authenticator app and their recovery codes. Their password alone will be enough to log in, so check who is asking first.',
  submit: 'Turn off two-factor',
  dangerous: true,
  act: (client, { id }) => client.call('removeSecondFactor', { params: { id } }),
  done: 'Two-factor is off for {username}.',
})

const deletionModes = [
  ['soft', 'Keep the messages', 'People there can still read them. The author is shown as a deleted user.'],
  ['full', 'Delete the messages too', 'The messages on those instances are deleted as well.'],
] as const

/** The mode is for other instances: here everything is deleted. Contract: 5, DELETE users. */
function DeleteUserDialog({ row: user, name: username, ...props }: UserDialogProps) {
  const mutation = useMutation()
  const [mode, setMode] = useState<DeletionMode>('soft')
  const query = useQuery(`user ${user.id}`, (signal, client) =>
    client.call('describeUser', { params: { id: user.id }, signal }),
  )
  const instances = query.data?.instances ?? []
  const spaces = listOwnedSpaces(mutation.error)
  return (
    <ConfirmDialog
      dialog="DeleteUserDialog"
      title={t('Delete {username}', { username })}
      text="This deletes the user’s profile, messages and friendships, and frees their username. This can’t be undone."
      submit={t('Delete permanently')}
      dangerous
      mutation={spaces.length > 0 ? { ...mutation, error: null } : mutation}
      // The choice comes when the instances are known.
      submitDisabled={query.loading}
      changed={mode !== 'soft'}
      act={(_, client) => client.call('deleteUser', { params: { id: user.id }, body: { mode } })}
      done={(reply) => tellDeletion(username, reply.instances)}
      {...props}
    >
      {instances.length > 0 && (
        <>
          <p>
            {t('Instances that will be asked to delete the account too: {count} ({hosts}).', {
              count: formatNumber(instances.length),
              hosts: instances.map(hostOf).join(', '),
            })}
          </p>
          <RadioGroup
            legend={t('On the other instances')}
            name="user-deletion-mode"
            value={mode}
            options={deletionModes}
            onPick={setMode}
          />
        </>
      )}
      <OwnedSpaces
        spaces={spaces}
        text="Nothing was deleted, because this user owns spaces. Transfer or delete them first:"
      />
    </ConfirmDialog>
  )
}

function tellDeletion(username: string, instances: number): string {
  if (instances === 0) return t('{username} was deleted.', { username })
  const values = { username, count: formatNumber(instances) }
  return t(
    '{username} was deleted. Other instances that have been asked to delete the account: {count}. The user’s page shows the progress.',
    values,
  )
}

/** Shows the link once. Contract: 3, recover. */
function RecoveryLinkDialog({ row: { id }, name: username, onClose }: UserDialogProps) {
  const title = t('Password reset link for {username}', { username })
  const show = (link: RecoveryLink) => (
    <Dialog dialog="RecoveryLink" title={title} onClose={onClose}>
      <Notice
        tone="warning"
        text="Anyone with this link can take over the account. Share it only through a channel you trust."
      />
      <LinkField url={link.url} name="recovery-link" label={title} copyLabel={t('Copy reset link')} takesFocus />
      <p className="small muted">
        {t('Works once. Expires on {time}, or earlier if you (the admin) change your own password.', {
          time: formatDateTime(link.expiresAt),
        })}
      </p>
    </Dialog>
  )
  return (
    <ConfirmDialog
      dialog="RecoveryLinkDialog"
      title={title}
      text="The user can set a new password with this link. Until they do, nothing changes. When they do, they’re logged out everywhere else and their passkeys are removed. Any earlier link stops working."
      submit={t('Create link')}
      act={(_, client) => client.call('createRecoveryLink', { params: { id } })}
      next={show}
      onClose={onClose}
      focus="submit"
    />
  )
}

/** Shows the temporary password once. Spec: Admin reset. */
function ResetPasswordDialog({ row: { id }, name: username, isSelf, onClose }: UserDialogProps) {
  return (
    <ConfirmDialog
      dialog="ResetPasswordDialog"
      title={t('Temporary password for {username}', { username })}
      text={
        isSelf
          ? 'You’d be logged out before you could see the new password. Change your password in Settings > Security instead.'
          : 'This logs the user out everywhere and removes their passkeys. You get a temporary password to share with them.'
      }
      submit={t('Reset password')}
      dangerous
      act={async (_, client) => (await client.call('resetPassword', { params: { id } })).temporaryPassword}
      next={(password) => <TemporaryPassword username={username} password={password} onClose={onClose} />}
      onClose={onClose}
    />
  )
}

type TemporaryPasswordProps = { username: string; password: string; onClose: () => void }

function TemporaryPassword({ username, password, onClose }: TemporaryPasswordProps) {
  return (
    <Dialog
      dialog="TemporaryPassword"
      title={t('Temporary password for {username}', { username })}
      closeLabel={t('I’ve saved it')}
      onClose={onClose}
    >
      <Notice tone="warning" text="This password is shown only once. Share it only through a channel you trust." />
      <div className="secret-value">
        <code translate="no" className="secret-value__text" data-testid="temporary-password">
          {password}
        </code>
        <CopyButton text={password} label={t('Copy temporary password')} data-first-focus />
      </div>
    </Dialog>
  )
}
