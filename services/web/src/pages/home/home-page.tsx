import type { Client, User } from '@gatehouse/client'
import { Link } from 'wouter'
import { UserAvatar, UserName, UserNames } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { Skeleton, StatusDot } from '../../components/status.tsx'
import { useClient, useInstanceInfo, useQuery, useStore } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
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
                ? t('Your name and your password are managed on {host}. Chat in the apps of this instance.', {
                    host: user.homeInstance,
                  })
                : t(
                    'This is where your account lives: your name, your password, and who may use them. Chat in the apps of this instance.',
                  )}
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
  const asks = isLocal && !user.secondFactor
  const passkeys = useQuery(`passkeys ${user.id} ${asks}`, async (signal, client) =>
    asks ? await client.call('listPasskeys', { signal }) : null,
  )
  const steps: { title: Text; text: Text; path: string; link: Text; isDone: boolean }[] = [
    {
      title: 'Show who you are',
      text: 'A picture and a few words help friends to find you.',
      path: '/settings/profile',
      link: 'Fill it in',
      isDone: !isLocal || Boolean(user.avatar || user.bio),
    },
    {
      title: 'Protect your account',
      text: 'With a second factor or a passkey, a stolen password alone opens nothing.',
      path: '/settings/security',
      link: 'Set it up',
      isDone: !asks || passkeys.data?.passkeys.length !== 0,
    },
    {
      title: 'Use this account elsewhere',
      text: 'Connect other instances, and keep one name and one password.',
      path: '/settings/instances',
      link: 'Connect one',
      isDone: !isLocal || isConnected === true,
    },
  ]
  if ((asks && passkeys.loading) || (isLocal && isConnected === null)) return <Skeleton rows={1} of="card" />
  const open = steps.filter(({ isDone }) => !isDone)
  if (open.length === 0) return null
  return (
    <Card title={t('What to do next')}>
      <ul className="list">
        {open.map(({ title, text, path, link }) => (
          <li key={path}>
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
        <p className="muted">
          {phase === 'ready' ? t('Friends are listed here when they are online.') : t('Loading…')}
        </p>
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
  const found = await Promise.allSettled(ids.map((id) => client.call('getUser', { params: { id }, signal })))
  return new Map(found.flatMap((result) => (result.status === 'fulfilled' ? [[result.value.id, result.value]] : [])))
}

/** Replaces every page after an admin's reset. Contract: 2. */
export function NewPasswordPage({ user }: { user: User }) {
  const client = useClient()
  return (
    <AuthFrame
      title={t('Choose a new password')}
      subtitle={t(
        'An admin has given you a temporary password. Choose one of your own to go on: the temporary one is the current password.',
      )}
    >
      <PasswordForm user={user} />
      <p className="auth__alternative">
        <Button variant="plain" text="Log out" onClick={() => client.logOut()} />
      </p>
    </AuthFrame>
  )
}
