import { ApiError, type AvailabilityState, findRegistrationProblems, type RegistrationEntry } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { type SubmitEvent, useEffect, useRef, useState } from 'react'
import { Link, useSearch } from 'wouter'
import { Button } from '../../components/button.tsx'
import { formatError, MutationError, submitLabel } from '../../components/error-message.tsx'
import { Field, PasswordField } from '../../components/field.tsx'
import { useClient, useStore } from '../../context.ts'
import type { Mutation } from '../../hooks/use-mutation.ts'
import { InviteNotice } from './invite-notice.tsx'
import type { InviteEntry } from './use-invite.ts'
import { t, translate, translateRefusal } from '../../language/language.ts'

export type AccountEntry = RegistrationEntry

type Props = {
  entry: AccountEntry
  onChange: (entry: AccountEntry) => void
  /** The registration request: its errors about username and password are shown in this step. */
  mutation: Mutation
  invite: InviteEntry
  closed: boolean
  onContinue: () => void
}

export function AccountStep({ entry, onChange, mutation, invite, closed, onContinue }: Props) {
  const client = useClient()
  const [availabilityCheck] = useState(() => client.createAvailabilityCheck())
  useEffect(() => () => availabilityCheck.cancel(), [availabilityCheck])
  const availability = useStore(availabilityCheck)
  const [submitted, setSubmitted] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const search = useSearch()

  const allProblems = findRegistrationProblems(entry)
  const problems = submitted ? allProblems : {}
  const refused = findRefusedField(mutation.error)
  const focus = (name: string) => form.current?.querySelector<HTMLInputElement>(`[name=${name}]`)?.focus()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    const first = (['username', 'password', 'confirmation'] as const).find((name) => allProblems[name])
    if (first) return focus(first)
    if (availability.status === 'unavailable') return focus('username')
    if (closed && !invite.check?.valid) return focus('invite')
    mutation.clear()
    onContinue()
  }
  return (
    <form ref={form} className="stack stack--tight" noValidate onSubmit={submit}>
      <InviteNotice invite={invite} closed={closed} submitted={submitted} />
      <UsernameField
        value={entry.username}
        availability={availability}
        error={translated(problems.username) ?? refused.username ?? null}
        onChange={(username) => {
          onChange({ ...entry, username })
          // A closed instance refuses the check for every name; the registration itself then decides.
          if (!closed) availabilityCheck.check(username)
        }}
      />
      <PasswordField
        label={t('Password')}
        name="password"
        autoComplete="new-password"
        hint={t('{count} characters or more.', { count: minPassword })}
        value={entry.password}
        onChange={(event) => onChange({ ...entry, password: event.target.value })}
        error={
          problems.password ? t('Use at least {count} characters.', { count: minPassword }) : (refused.password ?? null)
        }
      />
      <PasswordField
        label={t('Password again')}
        name="confirmation"
        autoComplete="new-password"
        value={entry.confirmation}
        onChange={(event) => onChange({ ...entry, confirmation: event.target.value })}
        error={translated(problems.confirmation) ?? null}
        good={entry.confirmation && entry.confirmation === entry.password ? t('The passwords match.') : null}
      />
      <MutationError mutation={refused.username || refused.password ? { ...mutation, error: null } : mutation} />
      <Button type="submit" variant="primary" wide aria-disabled={mutation.waitSeconds > 0}>
        {submitLabel(mutation, t('Continue'))}
      </Button>
      <p className="auth__alternative">
        {t('Already have an account?')} <Link href={search ? `/login?${search}` : '/login'}>{t('Log in')}</Link>
      </p>
    </form>
  )
}

/** The server's: the page itself refuses only what is shorter than 6. Spec: Client session behaviour, registration page. */
const minPassword = limits.passwordMinCodePoints

const translated = (problem: string | undefined) => problem && translate(problem)

/** The message of the server by the field that it is about; empty if it is about none. */
function findRefusedField(error: Error | null): { username?: string; password?: string } {
  if (!(error instanceof ApiError)) return {}
  if (error.status === 409) return { username: translateRefusal(error) }
  if (error.status !== 400) return {}
  if (/password/i.test(error.message)) return { password: translateRefusal(error) }
  return /username/i.test(error.message) ? { username: translateRefusal(error) } : {}
}

const usernameHint = () =>
  t('{min} to {max} letters, digits or underscores.', { min: limits.localUsernameMin, max: limits.localUsernameMax })

type UsernameFieldProps = {
  value: string
  availability: AvailabilityState
  error: string | null
  onChange: (username: string) => void
}

/** The username, with the result of the availability check. */
function UsernameField({ value, availability, error, onChange }: UsernameFieldProps) {
  const taken = availability.status === 'unavailable' ? translate(availability.reason) : null
  const failed = availability.status === 'failed' ? formatError(availability.error) : null
  return (
    <Field
      label={t('Username')}
      name="username"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      maxLength={40}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      error={error ?? taken}
      good={
        availability.status === 'available' ? t('{username} is available.', { username: availability.username }) : null
      }
      hint={availability.status === 'checking' ? t('Checking…') : (failed ?? usernameHint())}
    />
  )
}
