import { ApiError, findRegistrationProblems, type RegistrationEntry } from '@gatehouse/client'
import { useEffect, useRef, useState, type FormEvent } from 'react'
import { Link, useSearch } from 'wouter'
import { client } from '../../client.ts'
import type { Act } from '../../hooks/use-act.ts'
import { useStore } from '../../hooks/use-store.ts'
import { ActProblem, limitedLabel } from '../../parts/act-problem.tsx'
import { Button } from '../../parts/button.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { InviteNotice } from './invite-notice.tsx'
import type { InviteEntry } from './use-invite.ts'
import { UsernameField } from './username-field.tsx'

export type AccountEntry = RegistrationEntry

type Props = {
  entry: AccountEntry
  onChange: (entry: AccountEntry) => void
  /** The registration as a whole: what it refused of this step shows here. */
  act: Act
  invite: InviteEntry
  closed: boolean
  onDone: () => void
}

export function AccountStep({ entry, onChange, act, invite, closed, onDone }: Props) {
  const [availability] = useState(() => client.createAvailabilityCheck())
  useEffect(() => () => availability.cancel(), [availability])
  const free = useStore(availability)
  const [pressed, setPressed] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const search = useSearch()

  const found = findRegistrationProblems(entry)
  const problems = pressed ? found : {}
  const refused = refusalOf(act.error)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    const first = (['username', 'password', 'confirmation'] as const).find((name) => found[name])
    if (first) return form.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus()
    if (free.status === 'unavailable') return form.current?.querySelector<HTMLInputElement>('[name=username]')?.focus()
    if (closed && !invite.check?.valid) return form.current?.querySelector<HTMLInputElement>('[name=invite]')?.focus()
    act.clear()
    onDone()
  }
  return (
    <form ref={form} className="stack stack--tight" noValidate onSubmit={submit}>
      <InviteNotice invite={invite} closed={closed} pressed={pressed} />
      <UsernameField
        value={entry.username}
        availability={free}
        error={problems.username ?? refused.username ?? null}
        onType={(username) => {
          onChange({ ...entry, username })
          // A closed instance answers "closed" for every name; the registration itself then decides.
          if (!closed) availability.check(username)
        }}
      />
      <PasswordField
        label="Password"
        name="password"
        autoComplete="new-password"
        hint="8 characters or more."
        value={entry.password}
        onChange={(event) => onChange({ ...entry, password: event.target.value })}
        error={problems.password ?? refused.password ?? null}
      />
      <PasswordField
        label="Password again"
        name="confirmation"
        autoComplete="new-password"
        value={entry.confirmation}
        onChange={(event) => onChange({ ...entry, confirmation: event.target.value })}
        error={problems.confirmation ?? null}
        good={entry.confirmation && entry.confirmation === entry.password ? 'The passwords match.' : null}
      />
      <ActProblem act={refused.username || refused.password ? { ...act, error: null } : act} />
      <Button type="submit" look="primary" wide aria-disabled={act.waitSeconds > 0}>
        {limitedLabel(act, 'Continue')}
      </Button>
      <p className="auth__other">
        Already have an account? <Link href={search ? `/login?${search}` : '/login'}>Log in</Link>
      </p>
    </form>
  )
}

/** The server's refusal, at the field it is about. */
function refusalOf(error: Error | null): { username?: string; password?: string } {
  if (!(error instanceof ApiError)) return {}
  if (error.status === 409) return { username: error.message }
  if (error.status !== 400) return {}
  if (/password/i.test(error.message)) return { password: error.message }
  return /username/i.test(error.message) ? { username: error.message } : {}
}
