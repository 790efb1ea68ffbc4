import { ApiError } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { type SubmitEvent, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, PasswordField } from '../../components/field.tsx'
import { findPasswordProblem } from '../../components/find-password-problem.ts'
import { Notice } from '../../components/status.tsx'
import { limits } from '@gatehouse/contracts/constants'
import { useClient, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AuthFrame } from './auth-frame.tsx'

/** The token stands behind the `#` of the address. Contract: 3, recover. */
export function RecoverPage() {
  const client = useClient()
  const mutation = useMutation()
  const [, navigate] = useLocation()
  const [token] = useState(() => location.hash.slice(1))
  const [entry, setEntry] = useState({ next: '', again: '', code: '' })
  const [asksForCode, setAsksForCode] = useState(false)
  const [submitted, setSubmitted] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const edit = (change: Partial<typeof entry>) => (setEntry({ ...entry, ...change }), mutation.clear())
  const problems = {
    next: findPasswordProblem(entry.next),
    again: entry.next === entry.again ? null : t('The passwords do not match.'),
  }

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    const wrong = problems.next ? 'new-password' : problems.again && 'new-password-again'
    if (wrong) return form.current?.querySelector<HTMLInputElement>(`[name=${wrong}]`)?.focus()
    // Not aborted on unmount: the link counts once, and the response holds the token of the session.
    const recover = async () => {
      try {
        await client.recover({ token, newPassword: entry.next, ...(entry.code && { code: entry.code }) })
      } catch (error) {
        setAsksForCode((before) => before || (error instanceof ApiError && error.code === 'second_factor_required'))
        throw error
      }
    }
    if (await mutation.run(recover)) navigate(routes.home)
  }
  return (
    <AuthFrame
      title={t('Choose a new password')}
      subtitle={t(
        'An admin gave you this link. Your password changes when you choose one, and you are logged out everywhere else.',
      )}
    >
      {token ? (
        <form ref={form} className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
          <PasswordField
            label={t('New password')}
            name="new-password"
            autoComplete="new-password"
            hint={t('{count} characters or more.', { count: limits.passwordMinCodePoints })}
            value={entry.next}
            onText={(next) => edit({ next })}
            error={submitted ? problems.next : null}
          />
          <PasswordField
            label={t('New password again')}
            name="new-password-again"
            autoComplete="new-password"
            value={entry.again}
            onText={(again) => edit({ again })}
            error={submitted ? problems.again : null}
            good={entry.again && entry.again === entry.next ? t('The passwords match.') : null}
          />
          {asksForCode && (
            <Field
              verbatim
              label={t('Code of your second factor')}
              name="code"
              autoComplete="one-time-code"
              value={entry.code}
              onText={(code) => edit({ code })}
            />
          )}
          <MutationError mutation={mutation} />
          <SubmitButton mutation={mutation} wide>
            {t('Change password')}
          </SubmitButton>
        </form>
      ) : (
        <Notice tone="error">
          <p>{t('This link is not complete. Copy the whole link, or ask an admin for a new one.')}</p>
        </Notice>
      )}
      <p className="auth__alternative">
        <Link href={routes.login}>{t('Log in')}</Link>
      </p>
    </AuthFrame>
  )
}
