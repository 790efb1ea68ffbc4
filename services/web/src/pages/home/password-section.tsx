import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { MutationButton, MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Form } from '../../components/field.tsx'
import { formatDateTime, hostOf } from '../../components/format.ts'
import { useNewPassword } from '../../components/new-password.tsx'
import { Notice } from '../../components/status.tsx'
import { useAppContext, useClient, useMutation, useStore, useToast } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { usePassword } from './use-password.tsx'

/** What is open elsewhere stays open after a change. Contract: 3. */
export function PasswordSection({ user }: { user: User }) {
  const [changedTo, setChangedTo] = useState<string | null>(null)
  const remotes = useStore(useClient().connections)
  const sharing = user.homeInstance ? [] : remotes.filter(({ token, ownPassword }) => token && !ownPassword)
  return (
    <Card
      title={t('Password')}
      text="Changing your password ends every other login. What is open elsewhere notices when it next asks for something."
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
  const mutation = useMutation()
  const close = async () => {
    const done = t('You are logged out everywhere else.')
    if (await mutation.run((_, client) => client.endSessions(password), done)) onDone()
  }
  return (
    <Notice
      tone="good"
      text="Your password was changed. A page that is open elsewhere stays connected until it next asks for something."
    >
      <div className="button-row">
        <MutationButton mutation={mutation} size="small" text="Disconnect them now" onClick={() => void close()} />
        <Button size="small" variant="plain" text="Leave them" onClick={onDone} />
      </div>
      {mutation.error && <MutationError mutation={mutation} />}
    </Notice>
  )
}

/** A federated account needs no current password. Contract: 3. */
export function PasswordForm({ user, onChanged }: { user: User; onChanged?: (password: string) => void }) {
  const { client, now } = useAppContext()
  const showToast = useToast()
  const isLocal = user.homeInstance === null
  const current = usePassword({
    name: 'current-password',
    label: t('Current password'),
    missing: t('Enter your current password.'),
    isNeeded: isLocal,
  })
  const { mutation } = current
  const next = useNewPassword(mutation)

  const submit = async () => {
    // Not aborted on unmount: the response holds the new token of this session.
    const passwords = { newPassword: next.value, ...(isLocal && { currentPassword: current.value }) }
    if (!(await mutation.run(() => client.changePassword(passwords)))) return false
    current.reset()
    next.reset()
    const self = client.session.getSnapshot().user
    if (self) client.session.setUser({ ...self, passwordChangeRequired: false, passwordChangedAt: now() })
    if (onChanged) onChanged(next.value)
    else showToast(t('Your password was changed.'))
    return true
  }
  return (
    <Form className="stack stack--tight" onSubmit={submit}>
      <input
        className="visually-hidden"
        type="text"
        name="username"
        id="username"
        autoComplete="username"
        value={user.username}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      {current.field}
      <div className="two-columns">{next.fields}</div>
      <MutationError mutation={mutation} />
      <div className="button-row">
        <SubmitButton mutation={mutation} text="Change password" />
      </div>
    </Form>
  )
}
