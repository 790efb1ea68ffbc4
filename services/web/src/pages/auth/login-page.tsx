import { ApiError, type Endpoints } from '@gatehouse/client'
import { Suspense, use, useEffect, useRef, useState } from 'react'
import { Link, useSearch } from 'wouter'
import { recall, receiptKey } from '../../browser-storage.ts'
import { Button } from '../../components/button.tsx'
import { MutationError, QueryError, SubmitButton } from '../../components/error-message.tsx'
import { CodeField, Field, findField, Form, PasswordField, useText } from '../../components/field.tsx'
import { lazyPart, showNothing } from '../../components/lazy-part.tsx'
import { Notice, Skeleton } from '../../components/status.tsx'
import { DeletionReportContext, openEntries, useClient, useInstanceInfo, useMutation, useStore } from '../../hooks.ts'
import { t, translate, translateRefusal } from '../../language/language.ts'
import { canUsePasskeys, loadPasskeys } from '../../passkeys.ts'
import { logInChoice, useProviders } from '../../providers.ts'
import { AuthFrame } from './auth-frame.tsx'
import { OtherWays } from './other-ways.tsx'

type OfferedPasskey = Endpoints['logInByPasskey']['input']['body']['response']

/** The page that deletes an account has loaded it before. A reload would lose the results. */
const DeletionResults = lazyPart(
  () => import('../../components/deletion-results.tsx').then((part) => part.DeletionResults),
  showNothing,
)

/** Who has registered here, and may wait for an admin. */
const ReceiptNotice = lazyPart(() => import('./receipt-notice.tsx').then((part) => part.ReceiptNotice), showNothing)

/** Called with the login request, so that both are under way at once. */
export const loadHomePage = () => import('../home/home-page.tsx')

/** The code is a second step, because only a right password shows that one is needed. Spec: Login. */
// eslint-disable-next-line max-lines-per-function -- one form, whose two steps share its fields
export function LoginPage() {
  const client = useClient()
  const [deletionReport, setDeletionReport] = use(DeletionReportContext)
  const mutation = useMutation()
  const { info } = useInstanceInfo()
  const { providers, passwords, ...ways } = useProviders()
  const { ended } = useStore(client.session)
  const username = useText((history.state as { username?: string } | null)?.username, mutation)
  const password = useText('', mutation)
  const code = useText('', mutation)
  const [step, setStep] = useState<'password' | 'code'>('password')
  const form = useRef<HTMLFormElement>(null)
  const focus = (name: string) => findField(form.current, name)?.focus()
  useEffect(() => focus('code'), [step])
  const goBack = () => {
    setStep('password')
    code.onText('')
    setTimeout(() => focus('password'))
  }

  const signInByPasskey = (offered?: OfferedPasskey) => {
    setDeletionReport(null)
    void loadHomePage().catch(() => undefined)
    return mutation.run(async (signal) => {
      const { choosePasskey, logInByPasskey } = await loadPasskeys()
      await logInByPasskey(client, offered ?? (await choosePasskey(client, signal)), signal)
    })
  }
  const askForPasskey = usePasskeyOffer(signInByPasskey, passwords === true)
  const { error } = mutation
  const isRefused = error instanceof ApiError && error.status === 401 && !error.code?.startsWith('passkey')
  const refusal = isRefused ? translateRefusal(error) : null
  const submit = async () => {
    setDeletionReport(null)
    void loadHomePage().catch(() => undefined) // reported where the page is shown
    const credentials = { username: username.value.trim(), password: password.value }
    const done = await mutation.run(async (signal) => {
      const { next } = await client.logIn({ ...credentials, ...(code.value && { code: code.value }) }, { signal })
      if (next) setStep('code')
    })
    if (!done) findField(form.current, step)?.select()
  }
  // Who has logged out, or comes back from there, stays.
  const [isStaying] = useState(() => ended !== null || deletionReport !== null || logInChoice.isWanted)
  const isOnlyWay = passwords === false && providers.length === 1 && !isStaying
  return (
    <AuthFrame
      title={t('Log in')}
      subtitle={
        step === 'code'
          ? t('Enter your authentication code to finish logging in.')
          : info
            ? t('Welcome back to {name}.', { name: info.name })
            : t('Welcome back.')
      }
    >
      <SessionEndNotice />
      {recall(receiptKey) && (
        <Suspense fallback={null}>
          <ReceiptNotice />
        </Suspense>
      )}
      <QueryError query={ways} />
      {passwords === null && ways.loading && <Skeleton rows={3} />}
      {passwords !== null && (
        <Form ref={form} className="stack stack--tight" onSubmit={submit}>
          {passwords && (
            <CredentialFields step={step} refusal={refusal} username={username} password={password} code={code} />
          )}
          <MutationError mutation={refusal ? { ...mutation, error: null } : mutation} />
          {passwords && <SubmitButton mutation={mutation} text="Log in" wide />}
          {step === 'password' && !isOnlyWay && canUsePasskeys() && (
            <Button wide icon="key" text="Log in with a passkey" onClick={() => void askForPasskey()} />
          )}
          {step === 'code' && <Button variant="plain" text="Back" onClick={goBack} />}
        </Form>
      )}
      {passwords !== null && step === 'password' && (
        <OtherWays
          providers={providers}
          isFirst={!passwords && (isOnlyWay || !canUsePasskeys())}
          isOnlyWay={isOnlyWay}
        />
      )}
      <Alternatives passwords={passwords} />
    </AuthFrame>
  )
}

type Credentials = Record<'username' | 'password' | 'code', ReturnType<typeof useText>> & {
  step: 'password' | 'code'
  refusal: string | null
}

function CredentialFields({ step, refusal, username, password, code }: Credentials) {
  if (step === 'code') {
    return (
      <CodeField
        {...code}
        problem={code.value.trim() ? null : t('Enter the code from your authenticator app.')}
        error={refusal}
        hint={t('Enter the six-digit code from your authenticator app, or a recovery code.')}
      />
    )
  }
  return (
    <>
      <Field
        verbatim
        label={t('Username')}
        name="username"
        autoComplete="username webauthn"
        {...username}
        problem={username.value.trim() ? null : t('Enter your username.')}
        {...(refusal && { 'aria-invalid': true })}
      />
      <PasswordField
        label={t('Password')}
        name="password"
        autoComplete="current-password"
        {...password}
        problem={password.value ? null : t('Enter your password.')}
        error={refusal}
      />
    </>
  )
}

type SignIn = (offered?: OfferedPasskey) => Promise<unknown>

/** Suggests passkeys in the username field, where it is shown. Gives what the button does. */
function usePasskeyOffer(signIn: SignIn, hasField: boolean) {
  const client = useClient()
  // The browser takes one request at a time.
  const [isOffered, setOffered] = useState(true)
  useEffect(() => {
    // The suggestions are those of the username field.
    if (!isOffered || !hasField || !canUsePasskeys()) return
    const offer = new AbortController()
    // Without the offer the button is left.
    const offered = loadPasskeys().then(
      ({ offerPasskeys }) => offerPasskeys(client, offer.signal),
      () => null,
    )
    void offered.then((response) => response && !offer.signal.aborted && void signIn(response))
    return () => offer.abort()
  }, [client, isOffered, hasField])
  return async () => {
    setOffered(false)
    await signIn()
    setOffered(true)
  }
}

/** Who cannot log in, and who has no account. `passwords` null: it is not known whether they are on. */
function Alternatives({ passwords }: { passwords: boolean | null }) {
  const { info } = useInstanceInfo()
  const search = useSearch()
  const isClosed = info?.registrationOpen === false
  return (
    <>
      {passwords && (
        <p className="auth__alternative">
          {info?.mail ? (
            <Link href="/forgot">{t('Forgot your password?')}</Link>
          ) : (
            t('Forgot your password? Ask an admin of this instance for a reset link.')
          )}
        </p>
      )}
      {(passwords !== false || isClosed) && (
        <p className="auth__alternative">
          {isClosed ? t('You need an invite to create an account.') : t('New here?')}{' '}
          <Link href={search ? `/register?${search}` : '/register'}>
            {isClosed ? t('Use an invite') : t('Create an account')}
          </Link>
        </p>
      )}
    </>
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
    outcome === 'kept' ? 'Your unsaved changes are still here. Log in to continue.' : 'Your unsaved changes were lost.'
  return (
    <div className="session-end">
      {deletionReport ? (
        <Notice tone="good" text="Your account has been deleted.">
          <Suspense fallback={null}>
            <DeletionResults results={deletionReport} />
          </Suspense>
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
