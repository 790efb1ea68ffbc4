import type { RemoteInstance, User } from '@gatehouse/client'
import { type ReactNode, useState } from 'react'
import { hostOf } from '../../components/format.ts'
import { UserName } from '../../components/avatar.tsx'
import { Button, IconButton, RowButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { formatError } from '../../components/error-message.tsx'
import { Badge, type BadgeTone, EmptyState, RelativeTime, StatusDot } from '../../components/status.tsx'
import { useClient, useMutation, useStore } from '../../hooks.ts'
import { t, type Text, translate } from '../../language/language.ts'
import { ConnectDialog, ResendDialog } from './connect-dialog.tsx'
import { type RegistryEntry, useRegistry } from './registry.ts'

export function ConnectedInstances({ user }: { user: User }) {
  const remotes = useStore(useClient().connections)
  const { elsewhere, forget } = useRegistry(user, remotes)
  /** Empty: a new instance. Null: no dialog. */
  const [connecting, setConnecting] = useState<string | null>(null)
  const { homeInstance } = user
  const actsOn = (origin: string) => ({ onConnect: () => setConnecting(origin), onRemoved: () => void forget(origin) })
  return (
    <Card
      title={t('Connected instances')}
      text={
        homeInstance
          ? t('This account belongs to {homeInstance}. Manage its connections there.', { homeInstance })
          : t('Instances where you use this account.')
      }
      action={
        !homeInstance && (
          <Button size="small" icon="plus" onClick={() => setConnecting('')}>
            {t('Connect')}
          </Button>
        )
      }
    >
      <ul className="list">
        {remotes.map((remote) => (
          <InstanceRow key={remote.origin} remote={remote} {...actsOn(remote.origin)} />
        ))}
        {elsewhere.map((entry) => (
          <ElsewhereRow key={entry.origin} entry={entry} {...actsOn(entry.origin)} />
        ))}
      </ul>
      {remotes.length + elsewhere.length === 0 && !homeInstance && (
        <EmptyState icon="link">{t('No connected instances yet. Connect one to use this account there.')}</EmptyState>
      )}
      {connecting !== null && <ConnectDialog origin={connecting} onClose={() => setConnecting(null)} />}
    </Card>
  )
}

type RowProps = {
  host: string
  name: ReactNode
  username: string
  state: ReactNode
  onConnect: (() => void) | null
  onRemove: () => void
  children?: ReactNode
}

function Row({ host, name, username, state, onConnect, onRemove, children }: RowProps) {
  return (
    <li className="instance">
      <span className="instance__names">
        {name}
        <span className="muted small">
          <UserName>{username}</UserName>
        </span>
      </span>
      <span className="instance__state" role="status">
        {state}
      </span>
      <span className="instance__actions">
        {children}
        {onConnect && <RowButton text="Connect" fullText="Connect {host}" values={{ host }} onClick={onConnect} />}
        <IconButton icon="close" label={t('Remove {host} from the list', { host })} onClick={onRemove} />
      </span>
    </li>
  )
}

export const states: Record<RemoteInstance['state'], { tone: BadgeTone; label: Text; connectable?: true }> = {
  connecting: { tone: 'neutral', label: 'Connecting…' },
  connected: { tone: 'good', label: 'Connected' },
  needs_password: { tone: 'warning', label: 'Needs your password', connectable: true },
  unreachable: { tone: 'bad', label: 'Unreachable' },
  refused: { tone: 'bad', label: 'Refused', connectable: true },
  disconnected: { tone: 'neutral', label: 'Disconnected', connectable: true },
}

const passwordSyncs = {
  sending: 'Sending the new password…',
  retrying: 'New password not sent yet, retrying',
} as const satisfies Record<string, Text>

type InstanceRowProps = { remote: RemoteInstance; onConnect: () => void; onRemoved: () => void }

function InstanceRow({ remote, onConnect, onRemoved }: InstanceRowProps) {
  const { connections } = useClient()
  const mutation = useMutation()
  const [resending, setResending] = useState(false)
  const { origin, state, passwordSync, pendingPasswordSync } = remote
  const host = hostOf(origin)
  const { tone, label, connectable } = states[state]
  const remoteError = state === 'connected' ? null : remote.error && translate(remote.error)
  const problem = mutation.error ? formatError(mutation.error) : remoteError
  return (
    <Row
      host={host}
      name={
        <>
          <StatusDot on={remote.online} />
          <strong>{host}</strong>
        </>
      }
      username={remote.username}
      state={
        <>
          <Badge tone={tone}>{t(label)}</Badge>
          {passwordSync !== 'idle' && <Badge tone="warning">{t(passwordSyncs[passwordSync])}</Badge>}
          {passwordSync === 'idle' && pendingPasswordSync && (
            <Badge tone="bad">{t('Still has your old password')}</Badge>
          )}
          {remote.token && (
            <span className="small muted">
              {remote.ownPassword ? t('Has a password of its own') : t('Uses your password')}
            </span>
          )}
          {problem && <span className="small row-error">{problem}</span>}
        </>
      }
      onConnect={connectable ? onConnect : null}
      onRemove={() => void mutation.run(() => connections.remove(origin).then(onRemoved))}
    >
      {pendingPasswordSync && (
        <Button size="small" onClick={() => setResending(true)}>
          {t('Send password again')}
        </Button>
      )}
      {state === 'unreachable' && (
        <Button
          size="small"
          icon="refresh"
          busy={mutation.busy}
          onClick={() => void mutation.run(() => connections.retry(origin))}
        >
          {t('Try again')}
        </Button>
      )}
      {state === 'connected' && (
        <RowButton
          text="Disconnect"
          fullText="Disconnect {host}"
          values={{ host }}
          variant="plain"
          onClick={() => connections.disconnect(origin)}
        />
      )}
      {resending && <ResendDialog origin={origin} onClose={() => setResending(false)} />}
    </Row>
  )
}

type ElsewhereRowProps = { entry: RegistryEntry; onConnect: () => void; onRemoved: () => void }

/** An instance to which another client of the user is connected. */
function ElsewhereRow({ entry, onConnect, onRemoved }: ElsewhereRowProps) {
  const host = hostOf(entry.origin)
  return (
    <Row
      host={host}
      name={
        <strong>
          <UserName>{entry.label || host}</UserName>
        </strong>
      }
      username={entry.username}
      state={
        <>
          <Badge>{t('Connected in another app')}</Badge>
          {entry.lastConnectedAt !== null && (
            <span className="small muted">
              <RelativeTime at={entry.lastConnectedAt} />
            </span>
          )}
        </>
      }
      onConnect={onConnect}
      onRemove={onRemoved}
    />
  )
}
