import type { RecoveryLink } from '@gatehouse/client'
import { useState } from 'react'
import { CopyButton } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { formatDateTime } from '../../components/format.ts'
import { LinkField } from '../../components/link-field.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import type { UserDialogProps } from './user-dialogs.tsx'

/** Shows the link once. Contract: 3, recover. */
export function RecoveryLinkDialog({ user, onClose }: Omit<UserDialogProps, 'isSelf' | 'onChanged'>) {
  const client = useClient()
  const mutation = useMutation()
  const [link, setLink] = useState<RecoveryLink | null>(null)
  const title = t('Recovery link for {username}', { username: user.username })
  const make = () =>
    mutation.run(async () => setLink(await client.call('createRecoveryLink', { params: { id: user.id } })))
  if (!link) {
    return (
      <Dialog
        title={title}
        submit={t('Make a link')}
        mutation={mutation}
        onSubmit={make}
        onClose={onClose}
        focus="submit"
      >
        <p>
          {t(
            'With the link the user chooses a new password and is logged out everywhere else. Nothing changes until then. An earlier link ends.',
          )}
        </p>
      </Dialog>
    )
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Notice tone="warning">
        <p>{t('Whoever has this link can take over the account. Pass it on over a channel that you trust.')}</p>
      </Notice>
      <LinkField url={link.url} name="recovery-link" label={title} copyLabel={t('Copy the recovery link')} takesFocus />
      <p className="small muted">{t('It counts once, until {time}.', { time: formatDateTime(link.expiresAt) })}</p>
    </Dialog>
  )
}

/** Shows the temporary password once. Spec: POST reset-password. */
export function ResetPasswordDialog({ user, isSelf, onClose }: Omit<UserDialogProps, 'onChanged'>) {
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
      title={t('Temporary password for {username}', { username: user.username })}
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
