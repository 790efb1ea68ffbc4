import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { MutationError, submitLabel } from '../../components/error-message.tsx'
import { Notice } from '../../components/notice.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { PasswordForm } from './password-form.tsx'
import { t } from '../../language/language.ts'

/** The own password. What is open elsewhere stays open after a change: closing it is offered then. Contract: 3. */
export function PasswordSection({ user }: { user: User }) {
  const [changedTo, setChangedTo] = useState<string | null>(null)
  return (
    <section className="card" aria-labelledby="password-head">
      <div className="card__header">
        <h2 id="password-head">{t('Password')}</h2>
        <p>
          {t(
            'Changing your password ends every other login. What is open elsewhere notices when it next asks for something.',
          )}
        </p>
      </div>
      <div role="status">
        {changedTo !== null && <CloseOthers password={changedTo} onDone={() => setChangedTo(null)} />}
      </div>
      <PasswordForm user={user} onChanged={setChangedTo} />
    </section>
  )
}

function CloseOthers({ password, onDone }: { password: string; onDone: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const close = async () => {
    if (!(await mutation.run(() => client.endSessions(password)))) return
    showToast(t('You are logged out everywhere else.'))
    onDone()
  }
  return (
    <Notice tone="good">
      <p>
        {t(
          'Your password was changed. A page that is open elsewhere stays connected until it next asks for something.',
        )}
      </p>
      <div className="button-row">
        <Button size="small" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0} onClick={() => void close()}>
          {submitLabel(mutation, t('Disconnect them now'))}
        </Button>
        <Button size="small" variant="plain" onClick={onDone}>
          {t('Leave them')}
        </Button>
      </div>
      {mutation.error && <MutationError mutation={mutation} />}
    </Notice>
  )
}
