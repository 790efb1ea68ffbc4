import { ApiError } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { useState } from 'react'
import { Link } from 'wouter'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Form } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useMutation, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AuthFrame } from './auth-frame.tsx'

/** A button confirms: programs that look through mail open its links, and press nothing. Contract: 3, Mail. */
export function ConfirmEmailPage() {
  const { token: isLoggedIn } = useStore(useClient().session)
  const mutation = useMutation()
  const [token] = useState(() => location.hash.replace(/^#(token=)?/, ''))
  const [isConfirmed, setConfirmed] = useState(false)
  const { error } = mutation
  const isOver = error instanceof ApiError && error.code === 'email_token_invalid'
  const isWaiting = token && !isConfirmed && !isOver
  const confirm = async () => {
    // Not aborted on unmount: the link counts once.
    const done = await mutation.run((_, client) => client.call('confirmEmail', { body: { token } }))
    if (done) setConfirmed(true)
  }
  return (
    <AuthFrame
      title={isConfirmed ? t('Email address confirmed') : t('Confirm your email address')}
      subtitle={isWaiting && t('Then you can use it to reset your password.')}
    >
      {!token && <Notice tone="error" text="This link is incomplete. Copy the whole link from the mail." />}
      {isConfirmed && <Notice tone="good" text="You can close this page." />}
      {isOver && (
        <Notice
          tone="warning"
          text="This link was already used, or it has expired. If Settings doesn’t show your address as confirmed, send the link again there."
        />
      )}
      {isWaiting && (
        <Form className="stack stack--tight" onSubmit={confirm}>
          <MutationError mutation={mutation} />
          <SubmitButton mutation={mutation} text="Confirm" wide />
        </Form>
      )}
      <p className="auth__alternative">
        {isLoggedIn ? (
          <Link href="/settings/security">{t('Go to Settings')}</Link>
        ) : (
          <Link href={routes.login}>{t('Log in')}</Link>
        )}
      </p>
    </AuthFrame>
  )
}
