import type { Client, User } from '@gatehouse/client'
import { Link } from 'wouter'
import { UserAvatar, UserName, UserNames } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { describeEmail } from '../../components/email-state.ts'
import { Skeleton, StatusDot } from '../../components/status.tsx'
import { useClient, useInstanceInfo, useQuery, useStore } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { useOwnAccount } from '../../own-account.ts'
import '../../styles/home.css'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { InstancesSummary } from './connected-instances.tsx'
import { PasswordForm } from './password-section.tsx'
import { ProfileCard } from './profile-card.tsx'
import { useRegistry } from './registry.ts'
import { SecondFactorDemand, useSecondFactorDemand } from './second-factor-section.tsx'

export function HomePage({ user }: { user: User }) {
  const isDemanded = useSecondFactorDemand(user)
  const { info } = useInstanceInfo()
  const remotes = useStore(useClient().connections)
  const { elsewhere, isKnown } = useRegistry(user, remotes)
  const count = remotes.length + elsewhere.length
  return (
    <PageFrame user={user} title={t('Home')}>
      <div className="home">
        <ProfileCard user={user} />
        <div className="home__main stack">
          <header>
            <h1>
              <UserName>{info?.name ?? t('Home')}</UserName>
            </h1>
            <p className="muted">
              {user.homeInstance
                ? t('Your name and password are managed on {host}. To chat, use one of this instance’s apps.', {
                    host: user.homeInstance,
                  })
                : t('Manage your account here. To chat, use one of this instance’s apps.')}
            </p>
          </header>
          <SecondFactorDemand user={user} isDemanded={isDemanded} />
          <NextSteps user={user} isConnected={count > 0 || (isKnown ? false : null)} />
          <InstancesSummary user={user} remotes={remotes} elsewhere={elsewhere} />
        </div>
        <Friends user={user} />
      </div>
    </PageFrame>
  )
}

/** What makes an account whole. Nothing when all is done. `isConnected`: null while that is not known. */
function NextSteps({ user, isConnected }: { user: User; isConnected: boolean | null }) {
  const isLocal = user.homeInstance === null
  const { account } = useOwnAccount(user)
  const steps: { title: Text; text: Text; path: string; link: Text; isDone: boolean }[] = [
    {
      title: 'Complete your profile',
      text: 'An avatar and a short bio help friends recognize you.',
      path: '/settings/profile',
      link: 'Edit profile',
      isDone: !isLocal || Boolean(user.avatar || user.bio),
    },
    emailStepOf(account?.email),
    {
      title: 'Protect your account',
      text:
        user.hasPassword === false
          ? 'Turn on two-factor authentication, so that logging in also requires a code.'
          : 'Turn on two-factor authentication, so that a stolen password isn’t enough to log in.',
      path: '/settings/security',
      link: 'Set up',
      // A passkey is not enough: the password alone still opens the account. Contract: 3, Passkeys.
      isDone: !isLocal || user.secondFactor === true,
    },
    {
      title: 'Use your account on other instances',
      text: 'Connect other instances and use them with this account.',
      path: '/settings/instances',
      link: 'Connect to an instance',
      isDone: !isLocal || isConnected === true,
    },
  ]
  if (isLocal && isConnected === null) return <Skeleton rows={1} of="card" />
  const open = steps.filter(({ isDone }) => !isDone)
  if (open.length === 0) return null
  return (
    <Card title={t('Next steps')}>
      <ul className="list">
        {open.map(({ title, text, path, link }) => (
          <li key={title}>
            <ActionRow title={t(title)} text={t(text)}>
              <Link href={path} className="button button--outline button--small">
                {t(link)}
              </Link>
            </ActionRow>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Undefined: not known yet, or the instance sends no mail. Contract: 3, Mail. */
function emailStepOf(email: User['email']) {
  const isDone = email === undefined || (email?.confirmed === true && !email.bounced)
  const step = { path: '/settings/security', isDone }
  if (!email) {
    const text = 'Then you can set a new password yourself if you forget yours.'
    return { ...step, title: 'Add an email address', text, link: 'Add' } as const
  }
  const title = email.bounced ? 'Check your email address' : 'Confirm your email address'
  return { ...step, title, text: describeEmail(email), link: 'Go to Settings' } as const
}

const maxFriendsShown = 50

function Friends({ user }: { user: User }) {
  const client = useClient()
  const { presences, phase } = useStore(client.live)
  const ids = Object.keys(presences)
    .filter((id) => id !== user.id && !client.identity.selfIds.has(id))
    .sort((a, b) => Number(presences[b] === 'online') - Number(presences[a] === 'online') || a.localeCompare(b))
    .slice(0, maxFriendsShown)
  const users = useQuery([...ids].sort().join(' '), (signal) => findUsers(client, ids, signal))
  const online = ids.filter((id) => presences[id] === 'online').length
  return (
    <Card
      title={t('Friends')}
      action={
        ids.length > 0 && (
          <span className="muted small" role="status">
            {t('{count} online', { count: online })}
          </span>
        )
      }
    >
      {ids.length === 0 && (
        <p className="muted">{phase === 'ready' ? t('Friends appear here when they’re online.') : t('Loading…')}</p>
      )}
      <ul className="friends">
        {ids.map((id) => {
          const friend = users.data?.get(id)
          const isOnline = presences[id] === 'online'
          return (
            <li key={id} className="user-item">
              {friend ? <UserAvatar user={friend} /> : <span className="avatar" />}
              {friend ? <UserNames user={friend} /> : <span className="user-item__names">…</span>}
              <StatusDot on={isOnline} />
              <span className="small muted">{isOnline ? t('Online') : t('Offline')}</span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

async function findUsers(client: Client, ids: string[], signal: AbortSignal): Promise<Map<string, User>> {
  const results = await Promise.allSettled(ids.map((id) => client.call('getUser', { params: { id }, signal })))
  return new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [[result.value.id, result.value]] : [])))
}

/** Replaces every page after an admin's reset. Contract: 2, self view. */
export function NewPasswordPage({ user }: { user: User }) {
  const client = useClient()
  return (
    <AuthFrame
      title={t('Set a new password')}
      subtitle={t(
        'You logged in with a temporary password. To continue, enter it as your current password and choose a new one.',
      )}
    >
      <PasswordForm user={user} />
      <p className="auth__alternative">
        <Button variant="plain" text="Log out" onClick={() => client.logOut()} />
      </p>
    </AuthFrame>
  )
}
