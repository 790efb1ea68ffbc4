import type { Overview } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Card } from '../../components/card.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { formatDay, formatNumber } from '../../components/format.ts'
import { Skeleton } from '../../components/status.tsx'
import { useClient, useQuery } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { FirstSteps } from './first-steps.tsx'

/** Contract: 5, Overview. */
export function OverviewSection() {
  const client = useClient()
  const query = useQuery('overview', (signal) => client.call('overview', { signal }), 'any')
  return (
    <section className="stack stack--loose" aria-label={t('Overview')}>
      <h2 className="visually-hidden">{t('Overview')}</h2>
      <QueryError query={query} />
      {!query.data && query.loading && <Skeleton rows={2} of="card" />}
      {query.data && (
        <>
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

const upTo = (max: number) => (count: number) => formatNumber(count) + (count >= max ? '+' : '')
const formatCount = upTo(limits.overviewMax)

function figuresOf({ accounts, ...overview }: Overview): [label: Text, value: ReactNode, href?: string][] {
  const total = formatNumber(accounts.total)
  return [
    ['Accounts', accounts.totalIsEstimate ? t('about {total}', { total }) : total, '/admin/users'],
    ['Online now', upTo(limits.onlineMax)(overview.online)],
    ['Waiting for approval', formatCount(overview.waitingApprovals), '/admin/federation'],
    ['Peers in trouble', formatCount(overview.peersInTrouble), '/admin/federation?status=trouble'],
    ['Deletions overdue', formatCount(overview.ordersOverdue), '/admin/federation/orders'],
    ['Version', overview.version],
  ]
}

const [barWidth, height] = [10, 60]

/** The picture is for the eye; the table says the same. */
function Registrations({ days }: { days: Overview['registrations'] }) {
  const most = Math.max(1, ...days.map(({ count }) => count))
  const total = days.reduce((sum, { count }) => sum + count, 0)
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? '']
  return (
    <Card
      title={t('Registrations a day')}
      text={t('{total} in 30 days, at most {most} a day', {
        total: formatNumber(total),
        most: formatCount(Math.max(...days.map(({ count }) => count))),
      })}
    >
      <svg className="chart" viewBox={`0 0 ${days.length * barWidth} ${height}`} preserveAspectRatio="none" aria-hidden>
        {days.map(({ day, count }, index) => (
          <rect
            key={day}
            x={index * barWidth + 1}
            width={barWidth - 2}
            y={height - Math.max(1, (count / most) * height)}
            height={Math.max(1, (count / most) * height)}
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
        <summary className="small">{t('As a table')}</summary>
        <table className="rules-table">
          <thead>
            <tr>
              <th scope="col">{t('Day (UTC)')}</th>
              <th scope="col">{t('Registrations')}</th>
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map(({ day, count }) => (
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
