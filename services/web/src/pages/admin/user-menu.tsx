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
      {user.homeSuspendedAt != null && <Badge tone="bad">{t('Suspended by its home')}</Badge>}
      {user.isDeleted && <Badge>{t('Deleted')}</Badge>}
    </>
  )
}

/** Everything that an admin can do with an account. Contract: 5. */
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
        {isAdmin && item('Remove admin', 'Remove admin: {username}', RoleDialog)}
        {!isAdmin && isLocal && item('Make admin', 'Make admin: {username}', RoleDialog)}
        {isLocal && !isSuspended && item('Recovery link', 'Recovery link for {username}', RecoveryLinkDialog)}
        {isLocal && item('Temporary password', 'Temporary password for {username}', ResetPasswordDialog)}
        {user.secondFactor &&
          item('Remove second factor', 'Remove second factor of {username}', RemoveSecondFactorDialog)}
        {item('End sessions', 'End sessions of {username}', EndUserSessionsDialog, { disabled: isSelf })}
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
    ? 'You will no longer be able to open this page. The last admin cannot be removed.'
    : 'This user keeps the account but can no longer open the administration.'
  return (
    <ConfirmDialog
      dialog="RoleDialog"
      title={t(promote ? 'Make {username} an admin' : 'Remove admin rights of {username}', { username })}
      text={
        promote
          ? 'Admins can see and delete all accounts, reset passwords, and change the settings of this instance.'
          : demotion
      }
      submit={t(promote ? 'Make admin' : 'Remove admin')}
      dangerous={!promote}
      done={t(promote ? '{username} is now an admin.' : '{username} is no longer an admin.', { username })}
      act={() => client.call('setRole', { params: { id: user.id }, body: { isAdmin: promote } })}
      onDone={follow}
      onClose={onClose}
    />
  )
}

/** Contract: 5, suspend. */
function SuspendDialog({ row: user, name: username, ...props }: UserDialogProps) {
  const reason = useText()
  return (
    <ConfirmDialog
      dialog="SuspendDialog"
      title={t('Suspend {username}', { username })}
      text="This logs the user out everywhere and refuses logins until you end it. Peers at which the user has an account are told, and do the same. Nothing is deleted."
      submit={t('Suspend')}
      dangerous
      done={t('{username} is suspended.', { username })}
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
      hint={t('The person reads it at the login.')}
      {...field}
    />
  )
}

const UnsuspendDialog = askBefore<User>({
  dialog: 'UnsuspendDialog',
  title: 'Unsuspend {username}',
  text: 'The user can log in again. Sessions that have ended stay ended.',
  submit: 'Unsuspend',
  act: (client, { id }) => client.call('unsuspendUser', { params: { id } }),
  done: '{username} can log in again.',
  more: ({ suspendedReason: reason, homeSuspendedAt }) => (
    <>
      {reason && <p className="muted">{t('Suspended because: {reason}', { reason })}</p>}
      {homeSuspendedAt != null && (
        <Notice
          tone="warning"
          text="The home instance suspended this account. Unsuspended here, it can log in whatever the home says, until the home suspends it again."
        />
      )}
    </>
  ),
})

/** Contract: 5, sessions/end. */
const EndUserSessionsDialog = askBefore<User>({
  dialog: 'EndUserSessionsDialog',
  title: 'End sessions of {username}',
  text: 'This logs the user out everywhere. The password stays, and logs in again.',
  submit: 'End sessions',
  act: (client, { id }) => client.call('endUserSessions', { params: { id } }),
  done: 'All sessions of {username} have ended.',
})

/** Contract: 5, Second factors of others. */
const RemoveSecondFactorDialog = askBefore<User>({
  dialog: 'RemoveSecondFactorDialog',
  title: 'Remove the second factor of {username}',
  text: 'For somebody who has lost the app and the recovery codes. From then on the password alone is enough: make sure who is asking.',
  submit: 'Remove second factor',
  dangerous: true,
  act: (client, { id }) => client.call('removeSecondFactor', { params: { id } }),
  done: '{username} has no second factor any more.',
})

const deletionModes = [
  ['soft', 'Keep the messages', 'Others there can still read them. They are shown as written by a deleted user.'],
  ['full', 'Delete the messages too', 'The messages on those instances are deleted as well.'],
] as const

/** Contract: 5, DELETE users. */
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
      text="This deletes the profile, messages and friendships. The username becomes available to others. This cannot be undone."
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
            {t('Other instances that are asked to delete the account there: {count} ({hosts}).', {
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
      <OwnedSpaces spaces={spaces} text="This user owns spaces. Transfer or delete them first. Nothing was deleted." />
    </ConfirmDialog>
  )
}

function tellDeletion(username: string, instances: number): string {
  if (instances === 0) return t('{username} was deleted.', { username })
  const values = { username, count: formatNumber(instances) }
  return t(
    '{username} was deleted. Other instances that are asked: {count}. The page of the user tells what they do.',
    values,
  )
}

/** Shows the link once. Contract: 3, recover. */
function RecoveryLinkDialog({ row: { id }, name: username, onClose }: UserDialogProps) {
  const title = t('Recovery link for {username}', { username })
  const show = (link: RecoveryLink) => (
    <Dialog dialog="RecoveryLink" title={title} onClose={onClose}>
      <Notice
        tone="warning"
        text="Whoever has this link can take over the account. Pass it on over a channel that you trust."
      />
      <LinkField url={link.url} name="recovery-link" label={title} copyLabel={t('Copy the recovery link')} takesFocus />
      <p className="small muted">
        {t('It counts once, until {time}, and ends when you change your password.', {
          time: formatDateTime(link.expiresAt),
        })}
      </p>
    </Dialog>
  )
  return (
    <ConfirmDialog
      dialog="RecoveryLinkDialog"
      title={title}
      text="With the link the user chooses a new password and is logged out everywhere else. Nothing changes until then. An earlier link ends."
      submit={t('Make a link')}
      act={(_, client) => client.call('createRecoveryLink', { params: { id } })}
      next={show}
      onClose={onClose}
      focus="submit"
    />
  )
}

/** Shows the temporary password once. Spec: POST reset-password. */
function ResetPasswordDialog({ row: { id }, name: username, isSelf, onClose }: UserDialogProps) {
  return (
    <ConfirmDialog
      dialog="ResetPasswordDialog"
      title={t('Temporary password for {username}', { username })}
      text={
        isSelf
          ? 'This would log you out before you see the new password. Change your password on your home page instead.'
          : 'This logs the user out everywhere. You get a temporary password to pass on.'
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
      title={t('New password for {username}', { username })}
      closeLabel={t('I have saved it')}
      onClose={onClose}
    >
      <Notice tone="warning" text="This password is shown only once. Pass it on over a channel that you trust." />
      <div className="secret-value">
        <code className="secret-value__text" data-testid="temporary-password">
          {password}
        </code>
        <CopyButton text={password} label={t('Copy the temporary password')} data-first-focus />
      </div>
    </Dialog>
  )
}
