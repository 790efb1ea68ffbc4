import { ApiError, type Interaction, type User } from '@gatehouse/client'
import { useEffect, useState } from 'react'
import { MutationButton, MutationError, QueryError, SubmitButton } from '../../components/error-message.tsx'
import { Form } from '../../components/field.tsx'
import { Notice, Skeleton } from '../../components/status.tsx'
import { useMutation, useQuery, type Mutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { AskedAccount, AskedScopes, type Decision, DecisionForm, useOtherAccount } from './parts.tsx'
import { isOfAnother } from './request.ts'
import { RefusedPage } from './refused-page.tsx'

type PageProps = { uid: string; user: User }

const isCode = (error: Error | null, ...codes: string[]) =>
  error instanceof ApiError && codes.includes(error.code ?? '')

/** An application asks who the person is. Contract: 3, Applications. */
export function AuthorizePage({ uid, user }: PageProps) {
  const query = useQuery(`interaction ${uid}`, (signal, client) =>
    client.call('readInteraction', { params: { uid }, signal }),
  )
  if (query.data) return <Request uid={uid} user={user} interaction={query.data} />
  if (isCode(query.error, 'interaction_unknown', 'application_unknown')) return <RefusedPage code="over" />
  if (isCode(query.error, 'not_found')) return <RefusedPage code="off" />
  return (
    <AuthFrame title={t('Loading…')}>
      <QueryError query={query} />
      {query.loading && <Skeleton rows={3} />}
    </AuthFrame>
  )
}

/** Where it goes on: what the person decided is known by then. */
type Leaving = { decision: Decision; url: string }

function Request({ uid, user, interaction }: PageProps & { interaction: Interaction }) {
  const { application, isConsentNeeded, prompt } = interaction
  const mutation = useMutation()
  const [leaving, setLeaving] = useState<Leaving | null>(null)
  const [isFresh, setFresh] = useState(prompt !== 'login')
  const isAsked = isConsentNeeded || isOfAnother(interaction, user)
  const decide = async (decision: Decision) => {
    // Not aborted on unmount: a decision counts once.
    const done = await mutation.run((_, client) =>
      client.call('decideInteraction', { params: { uid }, body: { decision } }),
    )
    if (!done) return
    const { url } = done.reply
    setLeaving({ decision, url })
    location.assign(url)
  }
  useEffect(() => {
    if (isFresh && !isAsked) void decide('allow')
  }, [])
  const { error } = mutation
  const isLogInAsked = isCode(error, 'fresh_login_required')
  useEffect(() => {
    if (isLogInAsked) setFresh(false)
  }, [isLogInAsked])

  if (leaving) return <LeavingPage {...leaving} interaction={interaction} />
  if (isCode(error, 'interaction_unknown', 'application_unknown')) return <RefusedPage code="over" />
  if (!isFresh)
    return <FreshLogIn user={user} interaction={interaction} mutation={mutation} onDeny={() => decide('deny')} />
  const title = t('Log in to {name}', { name: application.name })
  if (!isAsked) return <AllowedPage title={title} mutation={mutation} onRetry={() => decide('allow')} />
  return (
    <AuthFrame title={title} subtitle={describeAsker(application)}>
      <div className="stack">
        {isOfAnother(interaction, user) && (
          <Notice
            tone="warning"
            text="{name} expects the account {account}."
            values={{ name: application.name, account: interaction.loginHint ?? '' }}
          />
        )}
        <AskedAccount user={user} hint={interaction.loginHint} />
        <AskedScopes
          scopes={interaction.scopes}
          title={t('If you allow it, {name} can:', { name: application.name })}
        />
        <DecisionForm mutation={mutation} decide={decide} />
        <p className="small muted">{t('You can end this at any time under Settings > Connected applications.')}</p>
      </div>
    </AuthFrame>
  )
}

type AllowedProps = { title: string; mutation: Mutation; onRetry: () => Promise<void> }

/** The person has allowed it before: nothing is asked, unless the request failed. */
function AllowedPage({ title, mutation, onRetry }: AllowedProps) {
  return (
    <AuthFrame title={title} subtitle={t('Logging you in…')}>
      {mutation.error || mutation.waitSeconds > 0 ? (
        <Form className="stack stack--tight" onSubmit={onRetry}>
          <MutationError mutation={mutation} />
          <SubmitButton mutation={mutation} text="Try again" wide />
        </Form>
      ) : (
        <Skeleton rows={2} />
      )}
    </AuthFrame>
  )
}

function describeAsker({ name, redirectHost: host }: Interaction['application']): string {
  return host === null
    ? t('{name} wants to use your account.', { name })
    : t('{name} wants to use your account. You’ll go on to {host}.', { name, host })
}

type FreshProps = {
  user: User
  interaction: Interaction
  mutation: Mutation
  onDeny: () => unknown
}

/** prompt=login and max_age of OpenID Connect. */
function FreshLogIn({ user, interaction, mutation, onDeny }: FreshProps) {
  const { name } = interaction.application
  const logInAgain = useOtherAccount(interaction.loginHint ?? user.username)
  const shown = isCode(mutation.error, 'fresh_login_required') ? { ...mutation, error: null } : mutation
  return (
    <AuthFrame
      title={t('Log in again')}
      subtitle={t('{name} asks you to confirm who you are. After you log in, you return here.', { name })}
    >
      <Form className="stack stack--tight" onSubmit={logInAgain}>
        <MutationError mutation={shown} />
        <div className="decision">
          <MutationButton mutation={mutation} text="Deny" onClick={() => void onDeny()} />
          <SubmitButton mutation={undefined} text="Log in again" />
        </div>
      </Form>
    </AuthFrame>
  )
}

/** It stays where the address is that of an app on this device. */
function LeavingPage({ decision, url, interaction: { application } }: Leaving & { interaction: Interaction }) {
  const { name } = application
  return (
    <AuthFrame
      title={t(decision === 'allow' ? 'You’re logged in to {name}' : 'You denied {name} the access', { name })}
      subtitle={t('Taking you back…')}
    >
      <p>
        <a href={url}>{t('Go on to {name}', { name })}</a>
      </p>
    </AuthFrame>
  )
}
