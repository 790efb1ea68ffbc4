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

/** Lists sockets: the server keeps no list of tokens. Contract: 3, sockets and sessions/end. */
export function SessionsCard({ user }: { user: User }) {
  const { sessionId } = useStore(useClient().live)
  // Each socket of this page has another id.
  const query = useQuery(`sockets ${sessionId}`, (signal, client) => client.call('listSockets', { signal }))
  const changedAt = user.passwordChangedAt
  const endedBefore: Text =
    user.hasPassword === false
      ? 'Sessions from before {date} have already ended.'
      : 'Sessions from before {date} have already ended, because your password changed or you logged out everywhere.'
  const neverEnded: Text =
    user.hasPassword === false
      ? 'You haven’t logged out everywhere since you created this account.'
      : 'You haven’t changed your password since you created this account.'
  return (
    <Card
      title={t('Active now')}
      text="Apps and browsers that are connected to your account right now. Those that are logged in but not open aren’t listed."
      action={<Button size="small" icon="refresh" text="Refresh" onClick={query.refetch} />}
    >
      <QueryError query={query} />
      {!query.data && query.loading && <Skeleton rows={2} />}
      {query.data && <SocketList answer={query.data} ownSessionId={sessionId} />}
      <ActionRow
        className="sessions__end"
        title={t('Log out everywhere else')}
        text={changedAt ? t(endedBefore, { date: formatDateTime(changedAt) }) : t(neverEnded)}
      >
        <DialogButton
          size="small"
          variant="danger"
          text="Log out everywhere else"
          reopens="end sessions"
          dialog={(close) => <EndSessionsDialog user={user} onClose={close} />}
        />
      </ActionRow>
    </Card>
  )
}

function EndSessionsDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const password = useOwnPassword('end-sessions-password')
  return (
    <ConfirmDialog
      dialog="EndSessionsDialog"
      title={t('Log out everywhere else')}
      text={
        user.hasPassword === false
          ? 'This logs you out everywhere except here.'
          : 'This logs you out everywhere except here. Your password stays the same.'
      }
      submit={t('Log out everywhere else')}
      dangerous
      confirmation={password}
      // Not aborted on unmount: the response holds the new token of this session.
      act={(_, client) => client.endSessions(password.proof)}
      done={t('You’re logged out everywhere else.')}
      onClose={onClose}
    />
  )
}

const methods: Record<SignIns[number]['method'], Text> = {
  password: 'Password',
  second_factor: 'Password and code',
  passkey: 'Passkey',
  provider: 'Identity provider',
  home: 'Home instance password',
  recovery: 'Password reset link',
  registration: 'Account created',
  renewal: 'Session renewed',
}
const shownFirst = 5

export function SignInsCard({ user }: { user: User }) {
  const [isWhole, setWhole] = useState(false)
  const query = useQuery('sign-ins', (signal, client) => client.call('listSignIns', { signal }))
  const all = query.data?.signIns ?? null
  const hasMore = !isWhole && (all?.length ?? 0) > shownFirst
  return (
    <Card
      title={t('Login history')}
      text={
        user.hasPassword === false
          ? 'The last 90 days. If you don’t recognize a login, secure your account at your identity provider, then log out everywhere else.'
          : 'The last 90 days. If you don’t recognize a login, change your password. That logs you out everywhere else.'
      }
    >
      <QueryList
        query={query}
        items={all?.slice(0, isWhole ? all.length : shownFirst) ?? null}
        fetchNextPage={hasMore ? () => setWhole(true) : null}
        empty={t('No logins in the last 90 days.')}
        icon="info"
      >
        {({ id, device, method, network, signedInAt }) => (
          <li key={id} className="split-row">
            <span>
              <strong>{device ?? t('Unknown app')}</strong> <Badge>{t(methods[method])}</Badge>
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
