import { ApiError, type User } from '@gatehouse/client'
import { type SubmitEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { submitLabel } from '../../components/error-message.tsx'
import { PasswordField } from '../../components/field.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t, translate } from '../../language/language.ts'

/** Ends all other sessions of the account, confirmed by the password. Contract: 3, sessions/end. */
export function EndSessionsDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [password, setPassword] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const local = user.homeInstance === null
  const refused =
    mutation.error instanceof ApiError && mutation.error.status === 403 ? translate(mutation.error.message) : null

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (local && !password) return
    // Not aborted on unmount: the response holds the new token of this session.
    if (!(await mutation.run(() => client.endSessions(password)))) return
    showToast(t('You are logged out everywhere else.'))
    onClose()
  }
  return (
    <Dialog title={t('Log out everywhere')} onClose={onClose} locked={mutation.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p>{t('This ends every session of your account but this one, at once. Your password stays the same.')}</p>
        {local && (
          <PasswordField
            label={t('Your password')}
            name="end-sessions-password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => (setPassword(event.target.value), mutation.clear())}
            error={submitted && !password ? t('Enter your password.') : refused}
          />
        )}
        <DialogActions mutation={refused ? { ...mutation, error: null } : mutation}>
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
