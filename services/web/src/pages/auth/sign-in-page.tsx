import { ApiError } from '@gatehouse/client'
import {
  finishProviderLogIn,
  type ProviderLogIn,
  type ProviderLogInStep,
  type ProviderReturn,
  readProviderReturn,
} from '@gatehouse/client/providers'
import { routes, safeRedirect } from '@gatehouse/client/routes'
import { useEffect, useState } from 'react'
import { Link, Redirect, useLocation } from 'wouter'
import { DisplayNameField } from '../../components/appearance-fields.tsx'
import { formatError, MutationError, SubmitButton } from '../../components/error-message.tsx'
import { CodeField, Field, Form, useText } from '../../components/field.tsx'
import { Notice, Skeleton } from '../../components/status.tsx'
import { type Mutation, useClient, useInstanceInfo, useMutation, useStore, useToast } from '../../hooks.ts'
import { t, type Text, translateRefusal } from '../../language/language.ts'
import { forgetEntry, type LogInEntry, readEntry } from '../../provider-log-in.ts'
import { returnFromTrip } from '../../provider-trips.ts'
import { logInChoice, type Provider, readFragment, useProviders } from '../../providers.ts'
import { keepReceipt } from '../../registration-receipt.ts'
import { UsernameField } from './account-step.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { loadHomePage } from './login-page.tsx'
import { OtherWays } from './other-ways.tsx'
import { ReasonField } from './reason-field.tsx'
import { findRefusedField, parseInviteToken, useAvailability } from './use-registration.ts'

/** A new language shows the page anew, and the ticket must not be read again. */
let arrival: { returned: ProviderReturn; path: string | null } | null = null

function readArrival() {
  const fragment = readFragment()
  if (!fragment) return arrival
  const returned = readProviderReturn(fragment)
  return (arrival = { returned, path: returnFromTrip(returned) })
}

/** Where a provider leads back to. Contract: 3, Identity providers. */
export function SignInPage() {
  const { token } = useStore(useClient().session)
  const [arrived] = useState(readArrival)
  if (!arrived) return <Redirect to={token ? routes.home : routes.login} replace />
  const { returned, path } = arrived
  if (path !== null) return <Redirect to={path} replace />
  if (token) return <Redirect to={safeRedirect(returned.error === null ? returned.redirect : null)} replace />
  return returned.error === null ? <LogIn {...returned} /> : <Failed text={failures[returned.error]} />
}

const failures: Record<NonNullable<ProviderReturn['error']>, Text> = {
  cancelled: 'The login was canceled.',
  expired: 'This login took too long or was started in another tab. Try again.',
  provider_error: 'The identity provider couldn’t confirm who you are. Try again, or log in another way.',
  provider_unavailable: 'The identity provider can’t be reached right now. Try again later.',
  unavailable: 'This instance is busy. Try again in a moment.',
}

function useProvider(id: string | undefined): { provider: Provider | null; name: string } {
  const provider = useProviders().providers.find((one) => one.id === id) ?? null
  return { provider, name: provider?.name ?? id ?? '' }
}

type FailedProps = { text?: Text; error?: Error; entry?: LogInEntry }

/** With the ways to go on. */
function Failed({ text, error, entry = readEntry() ?? { provider: '' } }: FailedProps) {
  const { provider } = useProvider(entry.provider)
  return (
    <AuthFrame title={t('Log in')}>
      <div className="session-end">
        <Notice tone="error" text={text}>
          {error && <p>{formatError(error)}</p>}
        </Notice>
      </div>
      <OtherWays providers={provider ? [provider] : []} entry={entry} text="Log in with {provider} again" isFirst />
      <p className="auth__alternative">
        <Link href={routes.login} onClick={() => (logInChoice.isWanted = true)}>
          {t('Other ways to log in')}
        </Link>
      </p>
    </AuthFrame>
  )
}

type Returned = Extract<ProviderReturn, { error: null }>
type LogInStepProps = {
  name: string
  mutation: Mutation
  finish: (more: Omit<ProviderLogIn, 'ticket'>) => Promise<unknown>
}

function LogIn({ ticket, provider: id, redirect }: Returned) {
  const client = useClient()
  const showToast = useToast()
  const mutation = useMutation()
  const [, navigate] = useLocation()
  const { name } = useProvider(id)
  const [step, setStep] = useState<ProviderLogInStep | null>(null)
  const [entry, setEntry] = useState<LogInEntry>(() => ({ ...readEntry(), provider: id, redirect }))

  const finish = (more: Omit<ProviderLogIn, 'ticket'> = {}) => {
    void loadHomePage().catch(() => undefined)
    if (more.username !== undefined) {
      const { username, displayName, inviteToken } = more
      setEntry((before) => ({ ...before, username, displayName: displayName ?? '', invite: inviteToken ?? '' }))
    }
    // Not aborted on unmount: the ticket counts once, and the response holds the token of the session.
    return mutation.run(async () => {
      const next = await finishProviderLogIn(client, { ticket, ...more })
      if (next.next === 'approval') {
        forgetEntry()
        keepReceipt({ ...next.pending, provider: id })
        return navigate(routes.register, { replace: true })
      }
      if (next.next !== null) return setStep(next)
      forgetEntry()
      if (more.username !== undefined) showToast(t('Welcome!'))
    })
  }
  useEffect(() => void finish(), [])

  const { error } = mutation
  const isOver = error instanceof ApiError && error.status < 500 && (step === null || error.code === 'ticket_invalid')
  if (isOver) return <Failed error={error} entry={entry} />
  const props: LogInStepProps = { name, mutation, finish }
  if (step?.next === 'second_factor') return <CodeStep {...props} />
  if (step?.next === 'username') return <UsernameStep {...props} step={step} entry={entry} />
  return (
    <AuthFrame title={t('Log in')} subtitle={t('Logging you in with {provider}…', { provider: name })}>
      {error || mutation.waitSeconds > 0 ? (
        <Form className="stack stack--tight" onSubmit={() => finish()}>
          <MutationError mutation={mutation} />
          <SubmitButton mutation={mutation} text="Try again" wide />
        </Form>
      ) : (
        <Skeleton rows={2} />
      )}
    </AuthFrame>
  )
}

function CodeStep({ mutation, finish }: LogInStepProps) {
  const code = useText('', mutation)
  const { error } = mutation
  const refusal = error instanceof ApiError && error.status === 401 ? translateRefusal(error) : null
  return (
    <AuthFrame title={t('Log in')} subtitle={t('Enter your authentication code to finish logging in.')}>
      <Form className="stack stack--tight" onSubmit={() => finish({ code: code.value })}>
        <CodeField
          {...code}
          problem={code.value.trim() ? null : t('Enter the code from your authenticator app.')}
          error={refusal}
          hint={t('Enter the six-digit code from your authenticator app, or a recovery code.')}
        />
        <MutationError mutation={refusal ? { ...mutation, error: null } : mutation} />
        <SubmitButton mutation={mutation} text="Log in" wide />
      </Form>
    </AuthFrame>
  )
}

type UsernameStepProps = LogInStepProps & { step: Extract<ProviderLogInStep, { next: 'username' }>; entry: LogInEntry }

/** The first login of an identity makes an account. Nobody is joined to one that exists: that is done in its settings. */
// eslint-disable-next-line max-lines-per-function -- one form, field after field
function UsernameStep({ name, mutation, finish, step: { proposal, isInviteNeeded }, entry }: UsernameStepProps) {
  const username = useText(entry.username || (proposal.username ?? ''), mutation)
  const displayName = useText(entry.displayName || (proposal.displayName ?? ''), mutation)
  const invite = useText(entry.invite ?? '', mutation)
  const reason = useText('', mutation)
  const { info } = useInstanceInfo()
  // An invite needs no approval: the server says whether it is one.
  const needsApproval = info?.approvalRequired === true && !isInviteNeeded && !parseInviteToken(invite.value)
  const { availability, checkAvailability } = useAvailability()
  useEffect(() => {
    checkAvailability.check(username.value)
    return checkAvailability.cancel
  }, [checkAvailability])
  const refusedField = findRefusedField(mutation.error)
  const refusalOf = (field: 'username' | 'invite' | 'reason') =>
    refusedField === field ? translateRefusal(mutation.error as ApiError) : null
  const isRefusedHere =
    refusalOf('username') !== null ||
    (needsApproval && refusalOf('reason') !== null) ||
    (isInviteNeeded && refusalOf('invite') !== null)
  const submit = () =>
    finish({
      username: username.value,
      displayName: displayName.value.trim() || null,
      inviteToken: parseInviteToken(invite.value) || null,
      ...(needsApproval && { reason: reason.value.trim() || null }),
    })
  return (
    <AuthFrame
      title={t('Create an account')}
      subtitle={t('You’re logged in with {provider}. Choose the name that you’ll have here.', { provider: name })}
    >
      <Form className="stack stack--tight" onSubmit={submit}>
        <UsernameField
          value={username.value}
          refusal={refusalOf('username')}
          availability={availability}
          onText={(text) => {
            username.onText(text)
            checkAvailability.check(text)
          }}
        />
        <DisplayNameField {...displayName} username={username.value} />
        {isInviteNeeded && (
          <Field
            verbatim
            label={t('Invite link')}
            name="invite"
            {...invite}
            problem={invite.value.trim() ? null : t('You need an invite to create an account.')}
            error={refusalOf('invite')}
            hint={t('Paste the whole link, or just the code at the end.')}
          />
        )}
        {needsApproval && <ReasonField {...reason} isRequired={info.askReason === true} error={refusalOf('reason')} />}
        <MutationError mutation={isRefusedHere ? { ...mutation, error: null } : mutation} />
        <SubmitButton mutation={mutation} text="Create account" wide />
      </Form>
      <p className="auth__alternative">
        {t('Do you have an account here already? Log in with it, then link {provider} in Settings.', {
          provider: name,
        })}{' '}
        <Link href={routes.login} onClick={() => (logInChoice.isWanted = true)}>
          {t('Log in')}
        </Link>
      </p>
    </AuthFrame>
  )
}
