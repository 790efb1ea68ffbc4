import type { Overview } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { recall, remember } from '../../browser-storage.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { formatDay, formatNumber } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { Notice, Skeleton, StatusDot } from '../../components/status.tsx'
import { useQuery } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { upTo } from './format-count.ts'

export function OverviewSection() {
  const query = useQuery('overview', (signal, client) => client.call('overview', { signal }), 'any')
  return (
    <section className="stack stack--loose" aria-label={t('Overview')}>
      <h2 className="visually-hidden">{t('Overview')}</h2>
      <QueryError query={query} />
      {!query.data && query.loading && <Skeleton rows={2} of="card" />}
      {query.data && (
        <>
          {query.data.publicOrigin !== location.origin && (
            <Notice
              tone="warning"
              text="You opened this instance at {here}, but its address is {origin} (PUBLIC_ORIGIN). Invite and password reset links lead there, and passkeys work only there."
              values={{ here: location.origin, origin: query.data.publicOrigin }}
            />
          )}
          <FirstSteps done={query.data.firstSteps} />
          <dl className="figures">
            {figuresOf(query.data).map(([label, value, href]) => (
              <div key={label} className="card figure">
                <dt className="muted small">{href ? <Link href={href}>{t(label)}</Link> : t(label)}</dt>
                <dd className="figure__value tabular">{value}</dd>
              </div>
            ))}
          </dl>
          <Registrations days={query.data.registrations} />
        </>
      )}
    </section>
  )
}

type Step = { name: keyof Overview['firstSteps'] | 'hasBackup'; text: Text; hint: Text; href?: string }

const steps: readonly Step[] = [
  {
    name: 'isNamed',
    text: 'Name your instance',
    hint: 'People see the name when they log in.',
    href: '/admin/settings',
  },
  {
    name: 'isRegistrationDecided',
    text: 'Decide who can register',
    hint: 'Open registration, or invite only.',
    href: '/admin/settings',
  },
  {
    name: 'hasReservedUsernames',
    text: 'Reserve usernames',
    hint: 'So that nobody can register as “admin” or “support”.',
    href: '/admin/settings',
  },
  { name: 'hasInvited', text: 'Invite people', hint: 'Create an invite link and share it.', href: '/admin/invites' },
  {
    name: 'hasSecondAdmin',
    text: 'Add a second admin',
    hint: 'They can help if you lose access to your account.',
    href: '/admin/users',
  },
  {
    name: 'hasBackup',
    text: 'Back up your instance',
    hint: 'Run gatehouse backup <file> on the server. Keep the backup and the secrets on another machine.',
  },
]

/** What this browser remembers (`backup` or `hidden`), since the state of the instance does not tell. */
const storageKey = 'gatehouse_first_steps'

/** Goes when all is done, or when it is hidden. */
function FirstSteps({ done }: { done: Overview['firstSteps'] }) {
  const [progress, setProgress] = useState(() => recall(storageKey))
  const note = (what: 'backup' | 'hidden') => {
    remember(storageKey, what)
    setProgress(what)
  }
  const isDone = (name: Step['name']) => (name === 'hasBackup' ? progress === 'backup' : done[name])
  if (progress === 'hidden' || steps.every(({ name }) => isDone(name))) return null
  return (
    <Card
      title={t('Get started')}
      highlighted
      action={<Button size="small" variant="plain" text="Hide" onClick={() => note('hidden')} />}
    >
      <ul className="list">
        {steps.map(({ name, text, hint, href }) => (
          <li key={name} className="first-step" data-done={isDone(name)}>
            {isDone(name) ? <Icon name="check" /> : <StatusDot on={false} />}
            <span>
              {href && !isDone(name) ? <Link href={href}>{t(text)}</Link> : <strong>{t(text)}</strong>}
              {isDone(name) && <span className="visually-hidden"> {t('Done')}</span>}
              {!isDone(name) && <span className="small muted">{t(hint)}</span>}
            </span>
            {name === 'hasBackup' && !isDone(name) && (
              <Button size="small" text="Mark as done" onClick={() => note('backup')} />
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}

const formatCount = upTo(limits.overviewMax)

function figuresOf({ accounts, ...overview }: Overview): [label: Text, value: ReactNode, href?: string][] {
  const total = formatNumber(accounts.total)
  return [
    ['Accounts', accounts.totalIsEstimate ? t('about {total}', { total }) : total, '/admin/users'],
    ['Online now', upTo(limits.onlineMax)(overview.online)],
    ['Waiting registrations', formatCount(overview.pendingRegistrations), '/admin/registrations'],
    ['Pending approvals', formatCount(overview.waitingApprovals), '/admin/federation'],
    ['Peers with problems', formatCount(overview.peersInTrouble), '/admin/federation?status=trouble'],
    ['Overdue deletions', formatCount(overview.ordersOverdue), '/admin/federation/orders'],
    ['Version', overview.version],
  ]
}

const [barWidth, height] = [10, 60]

/** The picture is for the eye; the table says the same. */
function Registrations({ days }: { days: Overview['registrations'] }) {
  const most = Math.max(...days.map(({ count }) => count))
  const barHeight = (count: number) => Math.max(1, (count / Math.max(1, most)) * height)
  const total = days.reduce((sum, { count }) => sum + count, 0)
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? '']
  return (
    <Card
      title={t('Registrations per day')}
      text="{total} in the last 30 days, {most} on the busiest day"
      values={{ total: formatNumber(total), most: formatCount(most) }}
    >
      <svg className="chart" viewBox={`0 0 ${days.length * barWidth} ${height}`} preserveAspectRatio="none" aria-hidden>
        {days.map(({ day, count }, index) => (
          <rect
            key={day}
            x={index * barWidth + 1}
            width={barWidth - 2}
            y={height - barHeight(count)}
            height={barHeight(count)}
          >
            <title>{`${formatDay(day)}: ${formatCount(count)}`}</title>
          </rect>
        ))}
      </svg>
      <p className="split-row small muted" aria-hidden>
        <span>{formatDay(first)}</span>
        <span>{formatDay(last)}</span>
      </p>
      <details>
        <summary className="small">{t('Show as table')}</summary>
        <table className="rules-table">
          <thead>
            <tr>
              <th scope="col">{t('Day (UTC)')}</th>
              <th scope="col">{t('Registrations')}</th>
            </tr>
          </thead>
          <tbody>
            {[...days].reverse().map(({ day, count }) => (
              <tr key={day}>
                <th scope="row">{formatDay(day)}</th>
                <td className="tabular">{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Card>
  )
}
