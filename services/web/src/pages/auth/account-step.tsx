import type { ApiError } from '@gatehouse/client'
import { type AvailabilityState, findRegistrationProblems, findUsernameProblem } from '@gatehouse/client/registration'
import { limits } from '@gatehouse/contracts/constants'
import { type ReactNode, useEffect } from 'react'
import { Link, useSearch } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { formatError, MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, Form, PasswordField } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { t, translate, translateRefusal, type Text } from '../../language/language.ts'
import { ReasonField } from './reason-field.tsx'
import { findRefusedField, type Registration } from './use-registration.ts'

/** Contract: 3, check-invite. One that was revoked is `invalid` too. */
export const inviteProblems: Record<'expired' | 'exhausted' | 'invalid', Text> = {
  expired: 'This invite has expired. Ask for a new one.',
  exhausted: 'This invite has already been used. Ask for a new one.',
  invalid: 'This invite link isn’t valid. It may be incomplete or revoked. Ask for a new one.',
}

// eslint-disable-next-line max-lines-per-function -- one form, field after field
export function AccountStep({ children, ...registration }: Registration & { children?: ReactNode }) {
  const { account, editAccount, mutation, invite, usesInvite, setStep, availability, checkAvailability } = registration
  const { needsApproval, reason } = registration
  useEffect(() => checkAvailability.cancel, [checkAvailability])
  const problems = findRegistrationProblems(account)
  const refusedField = findRefusedField(mutation.error)
  const refusalOf = (field: 'username' | 'password' | 'reason') =>
    refusedField === field ? translateRefusal(mutation.error as ApiError) : null
  const submit = () => {
    mutation.clear()
    setStep(2)
  }
  return (
    <Form className="stack stack--tight" onSubmit={submit}>
      {usesInvite && invite.check?.valid && (
        <p className="muted">
          {t('Your invite:')} <UserName strong>{invite.check.name}</UserName>
        </p>
      )}
      {needsApproval && invite.check?.valid === false && (
        <Notice tone="warning">
          <p>
            {t(inviteProblems[invite.check.reason])} {t('Or register without one: an admin then decides about it.')}
          </p>
        </Notice>
      )}
      <UsernameField
        value={account.username}
        refusal={refusalOf('username')}
        availability={availability}
        onText={(username) => {
          editAccount({ username })
          checkAvailability.check(username)
        }}
      />
      <PasswordField
        label={t('Password')}
        name="password"
        autoComplete="new-password"
        hint={t('At least {count} characters.', { count: minPassword })}
        value={account.password}
        onText={(password) => editAccount({ password })}
        problem={problems.password && t('Use at least {count} characters.', { count: minPassword })}
        error={refusalOf('password')}
      />
      <PasswordField
        label={t('Confirm password')}
        name="confirmation"
        autoComplete="new-password"
        value={account.confirmation}
        onText={(confirmation) => editAccount({ confirmation })}
        problem={problems.confirmation && translate(problems.confirmation)}
        good={account.confirmation && account.confirmation === account.password ? t('The passwords match.') : null}
      />
      {needsApproval && <ReasonField {...reason} error={refusalOf('reason')} />}
      <MutationError mutation={refusedField && refusedField !== 'invite' ? { ...mutation, error: null } : mutation} />
      <SubmitButton mutation={mutation} text="Continue" wide />
      {children}
      <LogInInstead />
    </Form>
  )
}

/** The server's. The page refuses less than 6. Spec: Client session behaviour, registration page. */
const minPassword = limits.passwordMinCodePoints

type UsernameFieldProps = {
  value: string
  onText: (text: string) => void
  refusal: string | null
  availability: AvailabilityState
}

/** Of a new account. */
export function UsernameField({ refusal, availability, ...text }: UsernameFieldProps) {
  const problem = findUsernameProblem(text.value)
  const availabilityProblem = availability.status === 'unavailable' ? translate(availability.reason) : null
  const free = availability.status === 'available' ? availability.username : null
  return (
    <Field
      verbatim
      label={t('Username')}
      name="username"
      autoComplete="username"
      {...text}
      problem={problem ? translate(problem) : availabilityProblem}
      error={refusal ?? availabilityProblem}
      good={free && t('{username} is available.', { username: free })}
      hint={describeCheck(availability)}
    />
  )
}

function describeCheck(availability: AvailabilityState): string {
  if (availability.status === 'checking') return t('Checking…')
  if (availability.status === 'failed') return formatError(availability.error)
  const [min, max] = [limits.localUsernameMin, limits.localUsernameMax]
  return t('{min} to {max} lowercase letters, numbers or underscores.', { min, max })
}

export function LogInInstead() {
  const search = useSearch()
  return (
    <p className="auth__alternative">
      {t('Already have an account?')} <Link href={search ? `/login?${search}` : '/login'}>{t('Log in')}</Link>
    </p>
  )
}
