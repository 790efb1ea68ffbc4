import { listOwnedSpaces, type User } from '@gatehouse/client'
import { useState } from 'react'
import { CopyButton } from '../../components/copy-button.tsx'
import { OwnedSpaces } from '../../components/deletion-results.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'

type Props = { user: User; isSelf: boolean; onClose: () => void; onChanged: () => void }

export function RoleDialog({ user, isSelf, onClose, onChanged }: Props) {
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

/** Shows the temporary password once. Spec: POST reset-password. */
export function ResetPasswordDialog({ user, isSelf, onClose }: Omit<Props, 'onChanged'>) {
  const client = useClient()
  const mutation = useMutation()
  const [temporaryPassword, setTemporaryPassword] = useState<string | null>(null)
  if (temporaryPassword)
    return <TemporaryPassword username={user.username} password={temporaryPassword} onClose={onClose} />

  const reset = () =>
    mutation.run(async () =>
      setTemporaryPassword((await client.call('resetPassword', { params: { id: user.id } })).temporaryPassword),
    )
  return (
    <Dialog
      title={t('Reset the password of {username}', { username: user.username })}
      submit={t('Reset password')}
      dangerous
      mutation={mutation}
      onSubmit={reset}
      onClose={onClose}
    >
      <p>
        {isSelf
          ? t('This would log you out before you see the new password. Change your password on your home page instead.')
          : t('This logs the user out everywhere. You get a temporary password to pass on.')}
      </p>
    </Dialog>
  )
}

type TemporaryPasswordProps = { username: string; password: string; onClose: () => void }

function TemporaryPassword({ username, password, onClose }: TemporaryPasswordProps) {
  return (
    <Dialog title={t('New password for {username}', { username })} closeLabel={t('I have saved it')} onClose={onClose}>
      <Notice tone="warning">
        <p>{t('This password is shown only once. Pass it on over a channel that you trust.')}</p>
      </Notice>
      <div className="secret-value">
        <code className="secret-value__text" data-testid="temporary-password">
          {password}
        </code>
        <CopyButton text={password} label={t('Copy the temporary password')} data-first-focus />
      </div>
    </Dialog>
  )
}

export function DeleteUserDialog({ user, onClose, onChanged }: Omit<Props, 'isSelf'>) {
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
