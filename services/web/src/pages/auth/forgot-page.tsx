import { routes } from '@gatehouse/client/routes'
import { useState } from 'react'
import { Link } from 'wouter'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, Form, useText } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AuthFrame } from './auth-frame.tsx'

/** Always has the same answer: it tells nobody who has an account here. Contract: 3, Mail. */
export function ForgotPage() {
  const mutation = useMutation()
  const name = useText('', mutation)
  const [isSent, setSent] = useState(false)
  const typed = name.value.trim()
  const submit = async () => {
    // A username can look like an address: `alice@own.domain`.
    const body = typed.includes('@') ? { username: typed, email: typed } : { username: typed }
    if (await mutation.run((signal, client) => client.call('requestRecovery', { body, signal }))) setSent(true)
  }
  return (
    <AuthFrame
      title={isSent ? t('Check your email') : t('Forgot your password?')}
      subtitle={!isSent && t('We’ll send you a link to set a new one.')}
    >
      {isSent ? (
        <Notice
          tone="good"
          text="If there’s an account with a confirmed email address, we’ve sent a link to that address. It works for one hour."
        >
          <p>
            {t('No mail? Check your spam folder. If it isn’t there, ask an admin of this instance for a reset link.')}
          </p>
        </Notice>
      ) : (
        <Form className="stack stack--tight" onSubmit={submit}>
          <Field
            verbatim
            label={t('Username or email address')}
            name="username"
            autoComplete="username"
            {...name}
            problem={typed ? null : t('Enter your username or email address.')}
          />
          <MutationError mutation={mutation} />
          <SubmitButton mutation={mutation} text="Send link" wide />
        </Form>
      )}
      <p className="auth__alternative">
        {isSent && (
          <>
            <Link href="/forgot" onClick={() => setSent(false)}>
              {t('Try another name')}
            </Link>
            {' · '}
          </>
        )}
        <Link href={routes.login}>{t('Log in')}</Link>
      </p>
    </AuthFrame>
  )
}
