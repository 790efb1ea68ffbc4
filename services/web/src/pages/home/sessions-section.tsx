import type { SignIns, User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { ConfirmDialog, DialogButton } from '../../components/dialog.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { formatDateTime } from '../../components/format.ts'
import { QueryList } from '../../components/query-list.tsx'
import { SocketList } from '../../components/socket-list.tsx'
import { Badge, RelativeTime, Skeleton } from '../../components/status.tsx'
import { useClient, useQuery, useStore } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { useOwnPassword } from './use-password.tsx'

/** Contract: 3, sockets and sessions/end. */
export function SessionsCard({ user }: { user: User }) {
  const { sessionId } = useStore(useClient().live)
  // Each socket of this page has another id.
  const query = useQuery(`sockets ${sessionId}`, (signal, client) => client.call('listSockets', { signal }))
  const changedAt = user.passwordChangedAt
  return (
    <Card
      title={t('Where you are logged in')}
      text="Everything that has your account open now. A device that is logged in but closed is not listed."
      action={<Button size="small" icon="refresh" text="Refresh" onClick={query.refetch} />}
    >
      <QueryError query={query} />
      {!query.data && query.loading && <Skeleton rows={2} />}
      {query.data && <SocketList answer={query.data} ownSessionId={sessionId} />}
      <ActionRow
        className="sessions__end"
        title={t('Log out everywhere')}
        text={
          changedAt
            ? t(
                'Logins from before {date} have ended already: your password was changed, or all sessions were ended.',
                { date: formatDateTime(changedAt) },
              )
            : t('Your password has not been changed since this account was created.')
        }
      >
        <DialogButton
          size="small"
          variant="danger"
          text="Log out everywhere"
          dialog={(close) => <EndSessionsDialog user={user} onClose={close} />}
        />
      </ActionRow>
    </Card>
  )
}

/** Contract: 3, sessions/end. */
function EndSessionsDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const password = useOwnPassword(user, 'end-sessions-password')
  return (
    <ConfirmDialog
      dialog="EndSessionsDialog"
      title={t('Log out everywhere')}
      text="This ends every session of your account but this one, at once. Your password stays the same."
      submit={t('Log out everywhere')}
      dangerous
      confirmation={password}
      // Not aborted on unmount: the response holds the new token of this session.
      act={(_, client) => client.endSessions(password.value)}
      done={t('You are logged out everywhere else.')}
      onClose={onClose}
    />
  )
}

const methods: Record<SignIns[number]['method'], Text> = {
  password: 'Password',
  second_factor: 'Password and code',
  passkey: 'Passkey',
  home: 'Password of the home instance',
  recovery: 'Recovery link',
  registration: 'Registration',
  renewal: 'Session renewed',
}
const shownFirst = 5

/** Contract: 3, Sign-ins. */
export function SignInsCard() {
  const [isWhole, setWhole] = useState(false)
  const query = useQuery('sign-ins', (signal, client) => client.call('listSignIns', { signal }))
  const all = query.data?.signIns ?? null
  const hasMore = !isWhole && (all?.length ?? 0) > shownFirst
  return (
    <Card
      title={t('Latest logins')}
      text="Of the last 90 days. If one was not you, change your password: that ends every other login."
    >
      <QueryList
        query={query}
        items={all?.slice(0, isWhole ? all.length : shownFirst) ?? null}
        fetchNextPage={hasMore ? () => setWhole(true) : null}
        empty={t('No logins in 90 days.')}
        icon="info"
      >
        {({ id, device, method, network, signedInAt }) => (
          <li key={id} className="split-row">
            <span>
              <strong>{device ?? t('Another app')}</strong> <Badge>{t(methods[method])}</Badge>
            </span>
            <span className="small muted">
              {network} · <RelativeTime at={signedInAt} />
            </span>
          </li>
        )}
      </QueryList>
    </Card>
  )
}
