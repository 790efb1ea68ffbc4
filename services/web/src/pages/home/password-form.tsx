import { ApiError, type User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { type SubmitEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { MutationError, submitLabel } from '../../components/error-message.tsx'
import { PasswordField } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { findPasswordProblem } from './find-password-problem.ts'

const emptyEntry = { current: '', next: '', again: '' }
type Entry = typeof emptyEntry

/** Changes the password, which ends all other sessions. A federated account needs no current password. Contract: 3. */
export function PasswordForm({ user }: { user: User }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [entry, setEntry] = useState(emptyEntry)
  const [submitted, setSubmitted] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const local = user.homeInstance === null
  const required = user.passwordChangeRequired === true
  useEffect(() => {
    if (required) form.current?.querySelector<HTMLInputElement>('[name=current]')?.focus()
  }, [required])
  const allProblems = findProblems(entry, local)
  const refused = mutation.error instanceof ApiError && mutation.error.status === 403 ? mutation.error.message : null
  const edit = (change: Partial<Entry>) => (setEntry({ ...entry, ...change }), mutation.clear())

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    const first = (['current', 'next', 'again'] as const).find((name) => allProblems[name])
    if (first) return form.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus()
    // Not aborted on unmount: the response holds the new token of this session.
    const passwords = { newPassword: entry.next, ...(local ? { currentPassword: entry.current } : {}) }
    const done = await mutation.run(() => client.changePassword(passwords))
    if (!done) return
    setEntry(emptyEntry)
    setSubmitted(false)
    const self = client.session.getSnapshot().user
    if (required && self) client.session.setUser({ ...self, passwordChangeRequired: false })
    showToast('Your password was changed.')
  }
  const problems = submitted ? allProblems : {}
  return (
    <section className="card" aria-labelledby="password-head">
      <div className="card__header">
        <h2 id="password-head">Password</h2>
        <p>Changing your password logs you out everywhere else.</p>
      </div>
      {required && (
        <Notice tone="warning">
          An admin has given you a temporary password. Choose one of your own now: the temporary one is the current
          password.
        </Notice>
      )}
      <form ref={form} className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <input
          className="visually-hidden"
          type="text"
          autoComplete="username"
          value={user.username}
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
        {local && (
          <PasswordField
            label="Current password"
            name="current"
            autoComplete="current-password"
            value={entry.current}
            onChange={(event) => edit({ current: event.target.value })}
            error={problems.current ?? refused}
          />
        )}
        <div className="two-columns">
          <PasswordField
            label="New password"
            name="next"
            autoComplete="new-password"
            hint={`${limits.passwordMinCodePoints} characters or more.`}
            value={entry.next}
            onChange={(event) => edit({ next: event.target.value })}
            error={problems.next ?? null}
          />
          <PasswordField
            label="New password again"
            name="again"
            autoComplete="new-password"
            value={entry.again}
            onChange={(event) => edit({ again: event.target.value })}
            error={problems.again ?? null}
            good={entry.again && entry.again === entry.next ? 'The passwords match.' : null}
          />
        </div>
        <MutationError mutation={refused ? { ...mutation, error: null } : mutation} />
        <div className="button-row">
          <Button type="submit" variant="primary" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
            {submitLabel(mutation, 'Change password')}
          </Button>
        </div>
      </form>
    </section>
  )
}

function findProblems(entry: Entry, local: boolean): Partial<Record<keyof Entry, string>> {
  const problems: Partial<Record<keyof Entry, string>> = {}
  if (local && !entry.current) problems.current = 'Enter your current password.'
  const problem = findPasswordProblem(entry.next)
  if (problem) problems.next = problem
  if (entry.next !== entry.again) problems.again = 'The passwords do not match.'
  return problems
}
