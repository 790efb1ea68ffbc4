import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { formatDateTime, hostOf } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { useClient, useMutation, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { PasswordForm } from './password-form.tsx'

/** What is open elsewhere stays open after a change. Contract: 3. */
export function PasswordSection({ user }: { user: User }) {
  const [changedTo, setChangedTo] = useState<string | null>(null)
  const remotes = useStore(useClient().connections)
  const sharing = user.homeInstance ? [] : remotes.filter(({ token, ownPassword }) => token && !ownPassword)
  return (
    <Card
      title={t('Password')}
      text={t(
        'Changing your password ends every other login. What is open elsewhere notices when it next asks for something.',
      )}
    >
      <div role="status">
        {changedTo !== null && <CloseOthers password={changedTo} onDone={() => setChangedTo(null)} />}
      </div>
      {user.passwordChangedAt && (
        <p className="small muted">
          {t('Last changed, or all sessions ended: {date}', { date: formatDateTime(user.passwordChangedAt) })}
        </p>
      )}
      {sharing.length > 0 && (
        <p className="small muted">
          {t('It is changed there too: {hosts}. Other connected instances have passwords of their own.', {
            hosts: sharing.map(({ origin }) => hostOf(origin)).join(', '),
          })}
        </p>
      )}
      <PasswordForm user={user} onChanged={setChangedTo} />
    </Card>
  )
}

function CloseOthers({ password, onDone }: { password: string; onDone: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const close = async () => {
    if (await mutation.run(() => client.endSessions(password), t('You are logged out everywhere else.'))) onDone()
  }
  return (
    <Notice tone="good">
      <p>
        {t(
          'Your password was changed. A page that is open elsewhere stays connected until it next asks for something.',
        )}
      </p>
      <div className="button-row">
        <SubmitButton mutation={mutation} type="button" variant="outline" size="small" onClick={() => void close()}>
          {t('Disconnect them now')}
        </SubmitButton>
        <Button size="small" variant="plain" onClick={onDone}>
          {t('Leave them')}
        </Button>
      </div>
      {mutation.error && <MutationError mutation={mutation} />}
    </Notice>
  )
}
