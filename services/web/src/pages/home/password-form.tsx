import type { User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { type SubmitEvent, useRef, useState } from 'react'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { PasswordField } from '../../components/field.tsx'
import { useAppContext, useMutation, useToast } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { findPasswordProblem } from '../../components/find-password-problem.ts'
import { describeRefusal } from './use-password.tsx'

const emptyEntry = { current: '', next: '', again: '' }
type Entry = typeof emptyEntry

const inputNames = { current: 'current-password', next: 'new-password', again: 'new-password-again' } as const

type Props = { user: User; onChanged?: (password: string) => void }

/** A federated account needs no current password. Contract: 3. */
export function PasswordForm({ user, onChanged }: Props) {
  const { client, now } = useAppContext()
  const mutation = useMutation()
  const showToast = useToast()
  const [entry, setEntry] = useState(emptyEntry)
  const [submitted, setSubmitted] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const local = user.homeInstance === null
  const allProblems = findProblems(entry, local)
  const refused = describeRefusal(mutation.error)
  const edit = (change: Partial<Entry>) => (setEntry({ ...entry, ...change }), mutation.clear())

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    const first = (['current', 'next', 'again'] as const).find((name) => allProblems[name])
    if (first) return form.current?.querySelector<HTMLInputElement>(`[name=${inputNames[first]}]`)?.focus()
    // Not aborted on unmount: the response holds the new token of this session.
    const passwords = { newPassword: entry.next, ...(local ? { currentPassword: entry.current } : {}) }
    const done = await mutation.run(() => client.changePassword(passwords))
    if (!done) return
    setEntry(emptyEntry)
    setSubmitted(false)
    const self = client.session.getSnapshot().user
    const passwordChangedAt = now()
    if (self) client.session.setUser({ ...self, passwordChangeRequired: false, passwordChangedAt })
    if (onChanged) onChanged(entry.next)
    else showToast(t('Your password was changed.'))
  }
  const problems = submitted ? allProblems : {}
  return (
    <form ref={form} className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
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
      {local && (
        <PasswordField
          label={t('Current password')}
          name={inputNames.current}
          autoComplete="current-password"
          value={entry.current}
          onText={(current) => edit({ current })}
          error={problems.current ?? refused}
        />
      )}
      <div className="two-columns">
        <PasswordField
          label={t('New password')}
          name={inputNames.next}
          autoComplete="new-password"
          hint={t('{count} characters or more.', { count: limits.passwordMinCodePoints })}
          value={entry.next}
          onText={(next) => edit({ next })}
          error={problems.next ?? null}
        />
        <PasswordField
          label={t('New password again')}
          name={inputNames.again}
          autoComplete="new-password"
          value={entry.again}
          onText={(again) => edit({ again })}
          error={problems.again ?? null}
          good={entry.again && entry.again === entry.next ? t('The passwords match.') : null}
        />
      </div>
      <MutationError mutation={refused ? { ...mutation, error: null } : mutation} />
      <div className="button-row">
        <SubmitButton mutation={mutation}>{t('Change password')}</SubmitButton>
      </div>
    </form>
  )
}

function findProblems(entry: Entry, local: boolean): Partial<Record<keyof Entry, string>> {
  const problems: Partial<Record<keyof Entry, string>> = {}
  if (local && !entry.current) problems.current = t('Enter your current password.')
  const problem = findPasswordProblem(entry.next)
  if (problem) problems.next = problem
  if (entry.next !== entry.again) problems.again = t('The passwords do not match.')
  return problems
}
