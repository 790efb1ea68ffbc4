import type { LinkedIdentity, User, UserDescription } from '@gatehouse/client'
import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { UserAvatar, UserName, UserNames } from '../../components/avatar.tsx'
import { Card } from '../../components/card.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { emailStateOf } from '../../components/email-state.ts'
import { formatDateTime, formatNumber, hostOf } from '../../components/format.ts'
import { describeIdentity } from '../../components/identities.ts'
import { SocketList } from '../../components/socket-list.tsx'
import { Badge, RelativeTime, Skeleton } from '../../components/status.tsx'
import { useQuery, type Work } from '../../hooks.ts'
import { formatName, t, translate, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { useProviders } from '../../providers.ts'
import { AuditRow } from './audit-section.tsx'
import { UserLink } from './user-link.tsx'
import { UserBadges, UserMenu } from './user-menu.tsx'

/** Reads again every 3 s until each deletion order had its first attempt, within 15 s. Contract: 5, A user. */
export function UserDetails({ id, self }: { id: string; self: User }) {
  const describe: Work<UserDescription> = (signal, client) => client.call('describeUser', { params: { id }, signal })
  const query = useQuery(`user ${id}`, describe, 'users')
  const details = query.data?.user.id === id ? query.data : null
  const orders = details?.orders ?? []
  const { identities = [], invited = [] } = details ?? {}
  const isFirstAttemptDue = orders.some(({ state, attempts }) => state === 'waiting' && attempts === 0)
  useEffect(() => {
    if (!isFirstAttemptDue) return
    const timer = setInterval(query.refetch, 3_000)
    return () => clearInterval(timer)
  }, [isFirstAttemptDue])
  return (
    <section className="stack" aria-label={t('User')}>
      <Link href="/admin/users" className="small">
        {t('All users')}
      </Link>
      <QueryError query={query} />
      {!details && query.loading && <Skeleton rows={3} of="card" />}
      {details && (
        <>
          <header className="card toolbar">
            <div className="user-item">
              <UserAvatar user={details.user} size="large" />
              <UserNames user={details.user} />
            </div>
            <div className="button-row">
              <UserBadges user={details.user} self={self} />
              {!details.user.isDeleted && <UserMenu user={details.user} self={self} onChanged={query.refetch} />}
            </div>
          </header>
          <div className="settings-grid">
            <div className="stack">
              <Card title={t('Active now')}>
                {details.sockets.length === 0 && <p className="muted">{t('Not connected right now.')}</p>}
                <SocketList answer={details} />
              </Card>
              {identities.length > 0 && <IdentityCard identities={identities} />}
              {invited.length > 0 && <InvitedCard invited={invited} />}
              {orders.length > 0 && <OrderCard orders={orders} />}
              <ActivityCard id={id} audit={details.audit} />
            </div>
            <AccountCard details={details} />
          </div>
        </>
      )}
    </section>
  )
}

function ActivityCard({ id, audit }: { id: string; audit: UserDescription['audit'] }) {
  return (
    <Card title={t('Recent activity')}>
      {audit.length === 0 && <p className="muted">{t('No entries yet.')}</p>}
      <ul className="list">
        {audit.map((entry) => (
          <AuditRow key={entry.id} entry={entry} />
        ))}
      </ul>
      <p className="button-row small">
        <Link href={`/admin/audit?subject=${id}`}>{t('All entries about this account')}</Link>
        <Link href={`/admin/audit?actor=${id}`}>{t('All entries by this account')}</Link>
      </p>
    </Card>
  )
}

function AccountCard({ details }: { details: UserDescription }) {
  return (
    <Card title={t('Account')}>
      <dl className="facts">
        {factsOf(details).map(([name, value]) => (
          <div key={name} className="split-row">
            <dt className="muted">{t(name)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

/** A provider that is no longer configured is shown by its ID. Contract: 3, Identity providers. */
function IdentityCard({ identities }: { identities: readonly LinkedIdentity[] }) {
  const { providers } = useProviders()
  return (
    <Card title={t('Identity providers')}>
      <ul className="list">
        {identities.map((identity) => (
          <li key={identity.id} className="list-row">
            <div>
              <h3>{providers.find(({ id }) => id === identity.provider)?.name ?? identity.provider}</h3>
              <p className="small muted">{describeIdentity(identity)}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** The server sends the latest 100. Contract: 4, Invites of members. */
function InvitedCard({ invited }: { invited: NonNullable<UserDescription['invited']> }) {
  return (
    <Card title={t('Invited')}>
      <ul className="list">
        {invited.map((user) => (
          <li key={user.id}>
            <UserLink user={user} />
          </li>
        ))}
      </ul>
      {invited.length >= 100 && (
        <p className="small muted">
          {t('Only the latest {count} are listed.', { count: formatNumber(invited.length) })}
        </p>
      )}
    </Card>
  )
}

const orderStates = {
  waiting: { label: 'is being asked', tone: 'neutral' },
  done: { label: 'has deleted it', tone: 'good' },
  refused: { label: 'has refused', tone: 'bad' },
  overdue: { label: 'no response in 30 days', tone: 'warning' },
} as const

function OrderCard({ orders }: { orders: NonNullable<UserDescription['orders']> }) {
  return (
    <Card title={t('Deletion on other instances')}>
      <ul className="list">
        {orders.map(({ origin, state, error, attempts }) => (
          <li key={origin} className="list-row">
            <div>
              <h3>
                {hostOf(origin)} <Badge tone={orderStates[state].tone}>{t(orderStates[state].label)}</Badge>
              </h3>
              {state !== 'done' && attempts > 0 && (
                <p className="small muted">
                  {t('attempts: {attempts}', { attempts: formatNumber(attempts) })}
                  {error && ` · ${translate(error)}`}
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function factsOf({ user, invitedBy, lastLoginAt, email, ...rest }: UserDescription): [Text, ReactNode][] {
  const facts: [Text, ReactNode][] = [
    ['ID', <code key="id">{user.id}</code>],
    ['Joined', formatDateTime(user.createdAt)],
    ['Last login', lastLoginAt === null ? t('Not in the last 90 days') : <RelativeTime key="login" at={lastLoginAt} />],
    ['Instance', user.homeInstance ?? t('This instance')],
    ['Invited by', invitedBy ? <Invitation key="invite" invitedBy={invitedBy} /> : t('None')],
  ]
  if (!user.homeInstance && !user.isDeleted) {
    facts.push(
      ['Password', user.hasPassword === false ? t('Not set') : t('Set')],
      ['Two-factor authentication', rest.secondFactor ? t('On') : t('Off')],
      ['Passkeys', formatNumber(rest.passkeys)],
    )
    // Not there while the instance sends no mail.
    if (email !== undefined) facts.push(['Email', email ? <EmailState key="email" email={email} /> : t('None')])
  }
  if (user.suspendedAt != null) facts.push(['Suspended', formatDateTime(user.suspendedAt)])
  if (user.homeSuspendedAt != null) facts.push(['Suspended by home instance', formatDateTime(user.homeSuspendedAt)])
  if (user.suspendedReason) facts.push(['Reason', formatName(user.suspendedReason)])
  return facts
}

function EmailState({ email }: { email: NonNullable<UserDescription['email']> }) {
  const { tone, label } = emailStateOf(email)
  return (
    <>
      <UserName>{email.address}</UserName> <Badge tone={tone}>{t(label)}</Badge>
    </>
  )
}

function Invitation({ invitedBy }: { invitedBy: NonNullable<UserDescription['invitedBy']> }) {
  const { name, userId, username } = invitedBy
  const creator = username && <UserLink user={{ id: userId, username }} />
  const values = { invite: <UserName>{name}</UserName>, name: creator }
  return <Phrase text={creator ? '{name}, with invite {invite}' : 'Invite {invite}'} values={values} />
}
