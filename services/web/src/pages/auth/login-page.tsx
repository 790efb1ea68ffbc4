import { ApiError } from '@gatehouse/client'
import { type SubmitEvent, useRef, useState } from 'react'
import { Link, useSearch } from 'wouter'
import { DeletionResults } from '../../components/deletion-results.tsx'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, PasswordField } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useDeletionReport, useInstanceInfo, useMutation, useStore } from '../../hooks.ts'
import { t, translate, translateRefusal } from '../../language/language.ts'
import { AuthFrame } from './auth-frame.tsx'

/** Called with the login request, so that both are under way at once. */
export function loadHomePage() {
  return import('../home/home-page.tsx')
}

/** Spec: POST /api/auth/login. */
export function LoginPage() {
  const client = useClient()
  const [, setDeletionReport] = useDeletionReport()
  const mutation = useMutation()
  const { info } = useInstanceInfo()
  const search = useSearch()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const nameInput = useRef<HTMLInputElement>(null)
  const passwordInput = useRef<HTMLInputElement>(null)

  const refused = mutation.error instanceof ApiError && mutation.error.status === 401 ? mutation.error : null
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (!username.trim()) return nameInput.current?.focus()
    if (!password) return passwordInput.current?.focus()
    setDeletionReport(null)
    void loadHomePage().catch(() => undefined) // reported where the page is shown
    const done = await mutation.run((signal) => client.logIn({ username: username.trim(), password }, { signal }))
    if (!done) passwordInput.current?.select()
  }
  return (
    <AuthFrame
      title={t('Log in')}
      subtitle={info ? t('Welcome back to {name}.', { name: info.name }) : t('Welcome back.')}
    >
      <SessionEndNotice />
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <Field
          verbatim
          label={t('Username')}
          name="username"
          autoComplete="username"
          inputRef={nameInput}
          value={username}
          onText={(text) => (setUsername(text), mutation.clear())}
          error={submitted && !username.trim() ? t('Enter your username.') : null}
          {...(refused && { 'aria-invalid': true })}
        />
        <PasswordField
          label={t('Password')}
          name="password"
          autoComplete="current-password"
          inputRef={passwordInput}
          value={password}
          onText={(text) => (setPassword(text), mutation.clear())}
          error={submitted && !password ? t('Enter your password.') : refused && translateRefusal(refused)}
        />
        <MutationError mutation={refused ? { ...mutation, error: null } : mutation} />
        <SubmitButton mutation={mutation} wide>
          {t('Log in')}
        </SubmitButton>
      </form>
      <p className="auth__alternative">
        {t('New here?')} <Link href={search ? `/register?${search}` : '/register'}>{t('Create an account')}</Link>
      </p>
    </AuthFrame>
  )
}

/** Why the last session ended. */
function SessionEndNotice() {
  const client = useClient()
  const { ended } = useStore(client.session)
  const [deletionReport] = useDeletionReport()
  if (!deletionReport && (!ended || ended.reason === 'logged_out')) return null
  return (
    <div className="session-end">
      <Notice tone={deletionReport ? 'good' : 'warning'}>
        <p>{deletionReport ? t('Your account was deleted.') : ended && translate(ended.message)}</p>
        {deletionReport && <DeletionResults results={deletionReport} />}
      </Notice>
    </div>
  )
}
