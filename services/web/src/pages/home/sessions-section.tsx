import type { OpenSockets, User } from '@gatehouse/client'
import { useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { describeUserAgent } from '../../components/describe-user-agent.ts'
import { QueryError } from '../../components/error-message.tsx'
import { formatDateTime } from '../../components/format-time.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { useClient, useStore } from '../../context.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { EndSessionsDialog } from './end-sessions-dialog.tsx'
import { t } from '../../language/language.ts'

/** Where the account is open now, and the end of all sessions. Contract: 3, sockets and sessions/end. */
export function SessionsSection({ user }: { user: User }) {
  const client = useClient()
  const { sessionId } = useStore(client.live)
  const [ending, setEnding] = useState(false)
  // Again with each socket of this page, and after the end of all sessions, which brings a new one.
  const query = useQuery(`sockets ${sessionId}`, (signal) => client.call('listSockets', { signal }))
  return (
    <section className="card" aria-labelledby="sessions-head">
      <div className="card__header">
        <h2 id="sessions-head">{t('Where you are logged in')}</h2>
        <Button size="small" icon="refresh" onClick={query.refetch}>
          {t('Refresh')}
        </Button>
        <p>
          {t(
            'Everything that has your account open now. A device that is logged in but closed is not listed: logins are not stored.',
          )}
        </p>
      </div>
      <QueryError query={query} />
      {!query.data && query.loading && <ListSkeleton rows={2} />}
      {query.data && <SocketList answer={query.data} ownSessionId={sessionId} />}
      <div className="action-row sessions__end">
        <span>
          <strong>{t('Log out everywhere')}</strong>
          <span className="muted">
            {user.passwordChangedAt
              ? t(
                  'Logins from before {date} have ended already: your password was changed, or all sessions were ended.',
                  { date: formatDateTime(user.passwordChangedAt) },
                )
              : t('Your password has not been changed since this account was created.')}
          </span>
        </span>
        <Button size="small" variant="danger" onClick={() => setEnding(true)}>
          {t('Log out everywhere')}
        </Button>
      </div>
      {ending && <EndSessionsDialog user={user} onClose={() => setEnding(false)} />}
    </section>
  )
}

function SocketList({ answer, ownSessionId }: { answer: OpenSockets; ownSessionId: string | null }) {
  return (
    <>
      <ul className="list">
        {answer.sockets.map((socket) => (
          <li key={socket.sessionId} className="socket">
            <span>
              <strong title={socket.userAgent}>{describeUserAgent(socket.userAgent) ?? t('Another app')}</strong>{' '}
              {socket.sessionId === ownSessionId && <Badge tone="good">{t('This page')}</Badge>}
            </span>
            <span className="small muted">
              {socket.network} · <RelativeTime at={socket.connectedAt} />
            </span>
          </li>
        ))}
      </ul>
      {answer.incomplete && (
        <p className="small muted" role="status">
          {t('A part of the instance did not answer in time. There may be more.')}
        </p>
      )}
    </>
  )
}
