import { ApiError } from '@gatehouse/client'
import { type SubmitEvent, use, useEffect, useRef, useState } from 'react'
import { Link, useSearch } from 'wouter'
import { Button } from '../../components/button.tsx'
import { DeletionResults } from '../../components/deletion-results.tsx'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, findField, PasswordField } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { DeletionReportContext, openEntries, useClient, useInstanceInfo, useMutation, useStore } from '../../hooks.ts'
import { t, translate, translateRefusal } from '../../language/language.ts'
import { canUsePasskeys, choosePasskey, logInByPasskey, offerPasskeys } from '../../passkeys.ts'
import { AuthFrame } from './auth-frame.tsx'

/** Called with the login request, so that both are under way at once. */
export const loadHomePage = () => import('../home/home-page.tsx')

/** Spec: POST /api/auth/login. */
export function LoginPage() {
  const client = useClient()
  const [, setDeletionReport] = use(DeletionReportContext)
  const mutation = useMutation()
  const { info } = useInstanceInfo()
  const search = useSearch()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [step, setStep] = useState<'password' | 'code'>('password')
  const [submitted, setSubmitted] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const focus = (name: string) => findField(form.current, name)?.focus()
  useEffect(() => focus('code'), [step])
  const goBack = () => {
    setStep('password')
    setCode('')
    mutation.clear()
    setTimeout(() => focus('password'))
  }

  const signInByPasskey = (choose: (signal: AbortSignal) => ReturnType<typeof choosePasskey>) => {
    setDeletionReport(null)
    void loadHomePage().catch(() => undefined)
    return mutation.run(async (signal) => logInByPasskey(client, await choose(signal), signal))
  }
  // The browser takes one request at a time.
  const [isOffered, setOffered] = useState(true)
  useEffect(() => {
    if (!isOffered) return
    const offer = new AbortController()
    void offerPasskeys(client, offer.signal).then(
      (response) => response && !offer.signal.aborted && void signInByPasskey(async () => response),
    )
    return () => offer.abort()
  }, [client, isOffered])
  const askForPasskey = async () => {
    setOffered(false)
    await signInByPasskey((signal) => choosePasskey(client, signal))
    setOffered(true)
  }
  const { error } = mutation
  const isRefused = error instanceof ApiError && error.status === 401 && !error.code?.startsWith('passkey')
  const refusal = isRefused ? translateRefusal(error) : null
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (!username.trim()) return focus('username')
    if (!password) return focus('password')
    setDeletionReport(null)
    void loadHomePage().catch(() => undefined) // reported where the page is shown
    if (step === 'code' && !code.trim()) return focus('code')
    const credentials = { username: username.trim(), password, ...(step === 'code' && { code }) }
    const done = await mutation.run(async (signal) => {
      const { next } = await client.logIn(credentials, { signal })
      if (!next) return
      setStep('code')
      setSubmitted(false)
    })
    if (!done) findField(form.current, step)?.select()
  }
  return (
    <AuthFrame
      title={t('Log in')}
      subtitle={
        step === 'code'
          ? t('This account has a second factor.')
          : info
            ? t('Welcome back to {name}.', { name: info.name })
            : t('Welcome back.')
      }
    >
      <SessionEndNotice />
      <form ref={form} className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        {step === 'code' ? (
          <Field
            verbatim
            label={t('Code')}
            name="code"
            autoComplete="one-time-code"
            value={code}
            onText={(text) => (setCode(text), mutation.clear())}
            error={submitted && !code.trim() ? t('Enter the code of your app.') : refusal}
            hint={t('The six digits of your authenticator app, or a recovery code.')}
          />
        ) : (
          <>
            <Field
              verbatim
              label={t('Username')}
              name="username"
              autoComplete="username webauthn"
              value={username}
              onText={(text) => (setUsername(text), mutation.clear())}
              error={submitted && !username.trim() ? t('Enter your username.') : null}
              {...(refusal && { 'aria-invalid': true })}
            />
            <PasswordField
              label={t('Password')}
              name="password"
              autoComplete="current-password"
              value={password}
              onText={(text) => (setPassword(text), mutation.clear())}
              error={submitted && !password ? t('Enter your password.') : refusal}
            />
          </>
        )}
        <MutationError mutation={refusal ? { ...mutation, error: null } : mutation} />
        <SubmitButton mutation={mutation} text="Log in" wide />
        {step === 'password' && canUsePasskeys() && (
          <Button wide icon="key" text="Sign in with a passkey" onClick={() => void askForPasskey()} />
        )}
        {step === 'code' && <Button variant="plain" text="Back" onClick={goBack} />}
      </form>
      <p className="auth__alternative">{t('Forgot your password? Ask an admin of this instance for a link.')}</p>
      <p className="auth__alternative">
        {info?.registrationOpen === false ? t('New accounts need an invite.') : t('New here?')}{' '}
        <Link href={search ? `/register?${search}` : '/register'}>
          {info?.registrationOpen === false ? t('I have an invite') : t('Create an account')}
        </Link>
      </p>
    </AuthFrame>
  )
}

/** Why the last session ended. */
function SessionEndNotice() {
  const { ended } = useStore(useClient().session)
  const [deletionReport] = use(DeletionReportContext)
  const [outcome] = useState(openEntries.outcome)
  useEffect(() => () => void (openEntries.outcome = null), [])
  if (!deletionReport && (!ended || ended.reason === 'logged_out')) return null
  const entries =
    outcome === 'kept'
      ? 'What you were entering is kept: log in to go on with it.'
      : 'What you were entering was not saved.'
  return (
    <div className="session-end">
      {deletionReport ? (
        <Notice tone="good" text="Your account was deleted.">
          <DeletionResults results={deletionReport} />
        </Notice>
      ) : (
        <Notice tone="warning">
          <p>{ended && translate(ended.message)}</p>
          {outcome && <p>{t(entries)}</p>}
        </Notice>
      )}
    </div>
  )
}
