import type { User } from '@gatehouse/client'
import type { SubmitEvent } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { submitLabel } from '../../components/error-message.tsx'
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

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (!ownPassword.submit()) return
    // Not aborted on unmount: the response holds the new token of this session.
    if (!(await mutation.run(() => client.endSessions(ownPassword.password)))) return
    showToast(t('You are logged out everywhere else.'))
    onClose()
  }
  return (
    <Dialog title={t('Log out everywhere')} onClose={onClose} locked={mutation.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p>{t('This ends every session of your account but this one, at once. Your password stays the same.')}</p>
        {ownPassword.field}
        <DialogActions mutation={ownPassword.mutation}>
          <Button onClick={onClose} disabled={mutation.busy}>
            {t('Cancel')}
          </Button>
          <Button type="submit" variant="danger-solid" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
            {submitLabel(mutation, t('Log out everywhere'))}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
