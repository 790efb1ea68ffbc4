import { ApiError, type User } from '@gatehouse/client'
import { useRef, useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { ActProblem, limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { findPasswordProblem } from '../../parts/find-password-problem.ts'
import { PasswordField } from '../../parts/password-field.tsx'

const empty = { current: '', next: '', again: '' }
type Entry = typeof empty

/** Changes the password; other sessions end, this one goes on. A federated account needs no current one. Contract: 3. */
export function PasswordForm({ user }: { user: User }) {
  const act = useAct()
  const announce = useAnnounce()
  const [entry, setEntry] = useState(empty)
  const [pressed, setPressed] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const local = user.homeInstance === null
  const found = findProblems(entry, local)
  const wrong = act.error instanceof ApiError && act.error.status === 403 ? act.error.message : null
  const type = (change: Partial<Entry>) => (setEntry({ ...entry, ...change }), act.clear())

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    const first = (['current', 'next', 'again'] as const).find((name) => found[name])
    if (first) return form.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus()
    // Not aborted when the page is left: the answer holds the token that keeps this session alive.
    const passwords = { newPassword: entry.next, ...(local ? { currentPassword: entry.current } : {}) }
    const done = await act.run(() => client.changePassword(passwords))
    if (!done) return
    setEntry(empty)
    setPressed(false)
    announce('Your password was changed.')
  }
  const shown = pressed ? found : {}
  return (
    <section className="wall" aria-labelledby="password-head">
      <div className="wall__head">
        <h2 id="password-head">Password</h2>
        <p>A new password logs you out everywhere else.</p>
      </div>
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
            onChange={(event) => type({ current: event.target.value })}
            error={shown.current ?? wrong}
          />
        )}
        <div className="split">
          <PasswordField
            label="New password"
            name="next"
            autoComplete="new-password"
            hint="8 characters or more."
            value={entry.next}
            onChange={(event) => type({ next: event.target.value })}
            error={shown.next ?? null}
          />
          <PasswordField
            label="New password again"
            name="again"
            autoComplete="new-password"
            value={entry.again}
            onChange={(event) => type({ again: event.target.value })}
            error={shown.again ?? null}
            good={entry.again && entry.again === entry.next ? 'The passwords match.' : null}
          />
        </div>
        <ActProblem act={wrong ? { ...act, error: null } : act} />
        <div className="button-row">
          <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Change password')}
          </Button>
        </div>
      </form>
    </section>
  )
}

function findProblems(entry: Entry, local: boolean): Partial<Record<keyof Entry, string>> {
  const problems: Partial<Record<keyof Entry, string>> = {}
  if (local && !entry.current) problems.current = 'Enter your current password.'
  const weak = findPasswordProblem(entry.next)
  if (weak) problems.next = weak
  if (entry.next !== entry.again) problems.again = 'The passwords do not match.'
  return problems
}
