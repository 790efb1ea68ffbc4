import { ApiError } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { CodeField, Form, useText } from '../../components/field.tsx'
import { useNewPassword } from '../../components/new-password.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useInstanceInfo, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AuthFrame } from './auth-frame.tsx'

/** The token stands behind the `#` of the address. Contract: 3, recover. */
export function RecoverPage() {
  const client = useClient()
  const mutation = useMutation()
  const [, navigate] = useLocation()
  const [token] = useState(() => location.hash.slice(1))
  const password = useNewPassword(mutation)
  const code = useText('', mutation)
  const [asksForCode, setAsksForCode] = useState(false)
  const { info } = useInstanceInfo()
  const { error } = mutation
  const isOver = !token || (error instanceof ApiError && error.code === 'recovery_link_invalid')

  const submit = async () => {
    // Not aborted on unmount: the link counts once, and the response holds the token of the session.
    const recover = async () => {
      try {
        await client.recover({ token, newPassword: password.value, ...(code.value && { code: code.value }) })
      } catch (error) {
        setAsksForCode((before) => before || (error instanceof ApiError && error.code === 'second_factor_required'))
        throw error
      }
    }
    if (await mutation.run(recover)) navigate(routes.home)
  }
  return (
    <AuthFrame
      title={t('Set a new password')}
      subtitle={t('After you set a new password, you’ll be logged out everywhere else.')}
    >
      {token ? (
        <Form className="stack stack--tight" onSubmit={submit}>
          {password.fields}
          {asksForCode && <CodeField label={t('Authentication code')} {...code} />}
          <MutationError mutation={mutation} />
          <SubmitButton mutation={mutation} text="Change password" wide />
        </Form>
      ) : (
        <Notice tone="error" text="This link is incomplete. Copy the whole link, or ask an admin for a new one." />
      )}
      {isOver && info?.mail && (
        <p className="auth__alternative">
          <Link href="/forgot">{t('Get a new link by email')}</Link>
        </p>
      )}
      <p className="auth__alternative">
        <Link href={routes.login}>{t('Log in')}</Link>
      </p>
    </AuthFrame>
  )
}
