import { ApiError } from '@gatehouse/client'
import {
  type AvailabilityState,
  createAvailabilityCheck,
  findRegistrationProblems,
  type RegistrationEntry,
} from '@gatehouse/client/registration'
import type { RefusalCode } from '@gatehouse/contracts'
import { limits } from '@gatehouse/contracts/constants'
import { type SubmitEvent, useEffect, useRef, useState } from 'react'
import { Link, useSearch } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { formatError, MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, PasswordField } from '../../components/field.tsx'
import { type Mutation, useClient, useStore } from '../../hooks.ts'
import { t, translate, translateRefusal } from '../../language/language.ts'
import type { InviteEntry } from './use-invite.ts'

type Props = {
  entry: RegistrationEntry
  onChange: (entry: RegistrationEntry) => void
  /** The registration. This step shows its errors about username and password. */
  mutation: Mutation
  invite: InviteEntry
  closed: boolean
  onContinue: () => void
}

export function AccountStep({ entry, onChange, mutation, invite, closed, onContinue }: Props) {
  const client = useClient()
  const [availabilityCheck] = useState(() => createAvailabilityCheck(client))
  useEffect(() => () => availabilityCheck.cancel(), [availabilityCheck])
  const availability = useStore(availabilityCheck)
  const [submitted, setSubmitted] = useState(false)
  const form = useRef<HTMLFormElement>(null)

  const allProblems = findRegistrationProblems(entry)
  const problems = submitted ? allProblems : {}
  const refusedField = findRefusedField(mutation.error)
  const refusalOf = (field: 'username' | 'password') =>
    refusedField === field ? translateRefusal(mutation.error as ApiError) : null
  const focus = (name: string) => form.current?.querySelector<HTMLInputElement>(`[name=${name}]`)?.focus()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    const first = (['username', 'password', 'confirmation'] as const).find((name) => allProblems[name])
    if (first) return focus(first)
    if (availability.status === 'unavailable') return focus('username')
    mutation.clear()
    onContinue()
  }
  return (
    <form ref={form} className="stack stack--tight" noValidate onSubmit={submit}>
      {closed && <Invited invite={invite} />}
      <UsernameField
        value={entry.username}
        availability={availability}
        error={problems.username ? translate(problems.username) : refusalOf('username')}
        onText={(username) => {
          onChange({ ...entry, username })
          // A closed instance refuses this check for every name.
          if (!closed) availabilityCheck.check(username)
        }}
      />
      <PasswordField
        label={t('Password')}
        name="password"
        autoComplete="new-password"
        hint={t('{count} characters or more.', { count: minPassword })}
        value={entry.password}
        onText={(password) => onChange({ ...entry, password })}
        error={
          problems.password ? t('Use at least {count} characters.', { count: minPassword }) : refusalOf('password')
        }
      />
      <PasswordField
        label={t('Password again')}
        name="confirmation"
        autoComplete="new-password"
        value={entry.confirmation}
        onText={(confirmation) => onChange({ ...entry, confirmation })}
        error={problems.confirmation && translate(problems.confirmation)}
        good={entry.confirmation && entry.confirmation === entry.password ? t('The passwords match.') : null}
      />
      <MutationError mutation={refusedField && refusedField !== 'invite' ? { ...mutation, error: null } : mutation} />
      <SubmitButton mutation={mutation} wide>
        {t('Continue')}
      </SubmitButton>
      <LogInInstead />
    </form>
  )
}

/** The server's. The page refuses less than 6. Spec: Client session behaviour, registration page. */
const minPassword = limits.passwordMinCodePoints

const steps = ['username', 'password', 'invite'] as const

const refusedFields: Partial<Record<RefusalCode, (typeof steps)[number]>> = {
  username_required: 'username',
  username_length_invalid: 'username',
  username_characters_invalid: 'username',
  username_taken: 'username',
  federated_account_exists: 'username',
  password_required: 'password',
  invite_required: 'invite',
  invite_invalid: 'invite',
  registration_closed: 'invite',
}

/** The field of this step that a refusal is about, or null. */
export function findRefusedField(error: unknown) {
  if (!(error instanceof ApiError)) return null
  const field = refusedFields[error.code as RefusalCode] ?? error.details?.field
  return steps.find((name) => name === field) ?? null
}

type UsernameFieldProps = {
  value: string
  availability: AvailabilityState
  error: string | null
  onText: (username: string) => void
}

function UsernameField({ availability, error, ...field }: UsernameFieldProps) {
  const { status } = availability
  const taken = status === 'unavailable' ? translate(availability.reason) : null
  const [min, max] = [limits.localUsernameMin, limits.localUsernameMax]
  const hint =
    status === 'failed'
      ? formatError(availability.error)
      : t('{min} to {max} letters, digits or underscores.', { min, max })
  return (
    <Field
      {...field}
      verbatim
      label={t('Username')}
      name="username"
      autoComplete="username"
      maxLength={40}
      error={error ?? taken}
      good={status === 'available' ? t('{username} is available.', { username: availability.username }) : null}
      hint={status === 'checking' ? t('Checking…') : hint}
    />
  )
}

function Invited({ invite }: { invite: InviteEntry }) {
  if (!invite.check?.valid) return null
  return (
    <p className="muted">
      {t('You are invited:')}{' '}
      <strong>
        <UserName>{invite.check.name}</UserName>
      </strong>
    </p>
  )
}

export function LogInInstead() {
  const search = useSearch()
  return (
    <p className="auth__alternative">
      {t('Already have an account?')} <Link href={search ? `/login?${search}` : '/login'}>{t('Log in')}</Link>
    </p>
  )
}
