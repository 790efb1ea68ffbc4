import { listOwnedSpaces, type User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { OwnedSpaces } from '../../components/deletion-results.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'

export type UserDialogProps = { user: User; isSelf: boolean; onClose: () => void; onChanged: () => void }

export function RoleDialog({ user, isSelf, onClose, onChanged }: UserDialogProps) {
  const client = useClient()
  const promote = !user.isAdmin
  const names = { username: user.username }
  const follow = () => {
    const self = client.session.getSnapshot().user
    if (isSelf && self) client.session.setUser({ ...self, isAdmin: promote })
    else onChanged()
  }
  return (
    <ConfirmDialog
      title={promote ? t('Make {username} an admin', names) : t('Remove admin rights of {username}', names)}
      submit={promote ? t('Make admin') : t('Remove admin')}
      dangerous={!promote}
      done={promote ? t('{username} is now an admin.', names) : t('{username} is no longer an admin.', names)}
      act={() => client.call('setRole', { params: { id: user.id }, body: { isAdmin: promote } })}
      onDone={follow}
      onClose={onClose}
    >
      <p>
        {promote
          ? t('Admins can see and delete all accounts, reset passwords, and change the settings of this instance.')
          : isSelf
            ? t('You will no longer be able to open this page. The last admin cannot be removed.')
            : t('This user keeps the account but can no longer open the administration.')}
      </p>
    </ConfirmDialog>
  )
}

/** Contract: 5, suspend. */
export function SuspendDialog({ user, onClose, onChanged }: Omit<UserDialogProps, 'isSelf'>) {
  const client = useClient()
  const [reason, setReason] = useState('')
  const names = { username: user.username }
  return (
    <ConfirmDialog
      title={t('Suspend {username}', names)}
      submit={t('Suspend')}
      dangerous
      done={t('{username} is suspended.', names)}
      act={() => client.call('suspendUser', { params: { id: user.id }, body: { reason } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t('This logs the user out everywhere and refuses logins until you end it. Nothing is deleted.')}</p>
      <ReasonField value={reason} onText={setReason} />
    </ConfirmDialog>
  )
}

export function ReasonField({ value, onText }: { value: string; onText: (text: string) => void }) {
  return (
    <Field
      label={t('Reason')}
      name="reason"
      optional
      autoComplete="off"
      maxLength={limits.suspensionReasonMax}
      hint={t('The person reads it at the login.')}
      value={value}
      onText={onText}
    />
  )
}

export function UnsuspendDialog({ user, onClose, onChanged }: Omit<UserDialogProps, 'isSelf'>) {
  const client = useClient()
  const names = { username: user.username }
  return (
    <ConfirmDialog
      title={t('Unsuspend {username}', names)}
      submit={t('Unsuspend')}
      done={t('{username} can log in again.', names)}
      act={() => client.call('unsuspendUser', { params: { id: user.id } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t('The user can log in again. Sessions that have ended stay ended.')}</p>
      {user.suspendedReason && (
        <p className="muted">{t('Suspended because: {reason}', { reason: user.suspendedReason })}</p>
      )}
    </ConfirmDialog>
  )
}

/** Contract: 5, sessions/end. */
export function EndUserSessionsDialog({ user, onClose, onChanged }: Omit<UserDialogProps, 'isSelf'>) {
  const client = useClient()
  const names = { username: user.username }
  return (
    <ConfirmDialog
      title={t('End sessions of {username}', names)}
      submit={t('End sessions')}
      done={t('All sessions of {username} have ended.', names)}
      act={() => client.call('endUserSessions', { params: { id: user.id } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t('This logs the user out everywhere. The password stays, and logs in again.')}</p>
    </ConfirmDialog>
  )
}

/** Contract: 5, Second factors of others. */
export function RemoveSecondFactorDialog({ user, onClose, onChanged }: Omit<UserDialogProps, 'isSelf'>) {
  const client = useClient()
  const names = { username: user.username }
  return (
    <ConfirmDialog
      title={t('Remove the second factor of {username}', names)}
      submit={t('Remove second factor')}
      dangerous
      done={t('{username} has no second factor any more.', names)}
      act={() => client.call('removeSecondFactor', { params: { id: user.id } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>
        {t(
          'For somebody who has lost the app and the recovery codes. From then on the password alone is enough: make sure who is asking.',
        )}
      </p>
    </ConfirmDialog>
  )
}

export function DeleteUserDialog({ user, onClose, onChanged }: Omit<UserDialogProps, 'isSelf'>) {
  const client = useClient()
  const mutation = useMutation()
  const spaces = listOwnedSpaces(mutation.error)
  const names = { username: user.username }
  return (
    <ConfirmDialog
      title={t('Delete {username}', names)}
      submit={t('Delete permanently')}
      dangerous
      mutation={spaces.length > 0 ? { ...mutation, error: null } : mutation}
      act={() => client.call('deleteUser', { params: { id: user.id } })}
      done={t('{username} was deleted.', names)}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>
        {t(
          'This deletes the profile, messages and friendships. The username becomes available to others. This cannot be undone.',
        )}
      </p>
      <OwnedSpaces spaces={spaces} ofOther />
    </ConfirmDialog>
  )
}
