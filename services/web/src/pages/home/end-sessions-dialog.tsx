import type { User } from '@gatehouse/client'
import { Dialog } from '../../components/dialog.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t } from '../../language/language.ts'
import { useOwnPassword } from './use-own-password.tsx'

/** Ends all other sessions of the account, confirmed by the password. Contract: 3, sessions/end. */
export function EndSessionsDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const ownPassword = useOwnPassword(user, mutation, 'end-sessions-password')
  const showToast = useToast()

  const submit = async () => {
    if (!ownPassword.submit()) return
    // Not aborted on unmount: the response holds the new token of this session.
    if (!(await mutation.run(() => client.endSessions(ownPassword.password)))) return
    showToast(t('You are logged out everywhere else.'))
    onClose()
  }
  return (
    <Dialog
      title={t('Log out everywhere')}
      submit={t('Log out everywhere')}
      dangerous
      mutation={ownPassword.mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>{t('This ends every session of your account but this one, at once. Your password stays the same.')}</p>
      {ownPassword.field}
    </Dialog>
  )
}
