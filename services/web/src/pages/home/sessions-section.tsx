import type { OpenSockets, User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { describeUserAgent } from '../../components/describe-user-agent.ts'
import { QueryError } from '../../components/error-message.tsx'
import { formatDateTime } from '../../components/format.ts'
import { Badge, RelativeTime, Skeleton } from '../../components/status.tsx'
import { useClient, useQuery, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { EndSessionsDialog } from './account-dialogs.tsx'

/** Contract: 3, sockets and sessions/end. */
export function SessionsSection({ user }: { user: User }) {
  const client = useClient()
  const { sessionId } = useStore(client.live)
  const [ending, setEnding] = useState(false)
  // Each socket of this page has another id.
  const query = useQuery(`sockets ${sessionId}`, (signal) => client.call('listSockets', { signal }))
  return (
    <Card
      title={t('Where you are logged in')}
      text={t(
        'Everything that has your account open now. A device that is logged in but closed is not listed: logins are not stored.',
      )}
      action={
        <Button size="small" icon="refresh" onClick={query.refetch}>
          {t('Refresh')}
        </Button>
      }
    >
      <QueryError query={query} />
      {!query.data && query.loading && <Skeleton rows={2} />}
      {query.data && <SocketList answer={query.data} ownSessionId={sessionId} />}
      <ActionRow
        className="sessions__end"
        title={t('Log out everywhere')}
        text={
          user.passwordChangedAt
            ? t(
                'Logins from before {date} have ended already: your password was changed, or all sessions were ended.',
                { date: formatDateTime(user.passwordChangedAt) },
              )
            : t('Your password has not been changed since this account was created.')
        }
      >
        <Button size="small" variant="danger" onClick={() => setEnding(true)}>
          {t('Log out everywhere')}
        </Button>
      </ActionRow>
      {ending && <EndSessionsDialog user={user} onClose={() => setEnding(false)} />}
    </Card>
  )
}

function SocketList({ answer, ownSessionId }: { answer: OpenSockets; ownSessionId: string | null }) {
  return (
    <>
      <ul className="list">
        {answer.sockets.map((socket) => (
          <li key={socket.sessionId} className="split-row">
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
