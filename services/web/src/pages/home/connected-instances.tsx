import type { RemoteInstance, User } from '@gatehouse/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { Button, IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DialogButton } from '../../components/dialog.tsx'
import { formatError } from '../../components/error-message.tsx'
import { hostOf } from '../../components/format.ts'
import { Badge, type BadgeTone, EmptyState, RelativeTime, StatusDot } from '../../components/status.tsx'
import { useClient, useMutation, useStore } from '../../hooks.ts'
import { t, type Text, translate, type Values } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { ConnectDialog, ResendDialog } from './connect-dialog.tsx'
import { type RegistryEntry, useRegistry } from './registry.ts'

const states: Record<RemoteInstance['state'], { tone: BadgeTone; label: Text; connectable?: true }> = {
  connecting: { tone: 'neutral', label: 'Connecting…' },
  connected: { tone: 'good', label: 'Connected' },
  needs_password: { tone: 'warning', label: 'Password needed', connectable: true },
  unreachable: { tone: 'bad', label: 'Unreachable' },
  refused: { tone: 'bad', label: 'Rejected', connectable: true },
  disconnected: { tone: 'neutral', label: 'Not connected', connectable: true },
}

const passwordSyncs = {
  sending: 'Updating password…',
  retrying: 'Password not updated yet. Retrying…',
} as const satisfies Record<string, Text>

const cardOf = ({ homeInstance }: User): { title: string; text: Text; values: Values } => ({
  title: t('Connected instances'),
  text: homeInstance
    ? 'This account belongs to {homeInstance}. Manage its connected instances there.'
    : 'Other instances where you use this account.',
  values: { homeInstance: homeInstance ?? '' },
})

type SummaryProps = { user: User; remotes: readonly RemoteInstance[]; elsewhere: readonly RegistryEntry[] }

/** Where this account is used. Contract: 7, the federation registry. */
export function InstancesSummary({ user, remotes, elsewhere }: SummaryProps) {
  const manage = (
    <Link href="/settings/instances" className="button button--outline button--small">
      {t('Manage')}
    </Link>
  )
  return (
    <Card {...cardOf(user)} action={!user.homeInstance && manage}>
      <ul className="list">
        {remotes.map(({ origin, state, online }) => (
          <li key={origin} className="split-row">
            <span>
              <StatusDot on={online} /> <strong>{hostOf(origin)}</strong>
            </span>
            <Badge tone={states[state].tone}>{t(states[state].label)}</Badge>
          </li>
        ))}
        {elsewhere.map(({ origin }) => (
          <li key={origin} className="split-row">
            <strong>{hostOf(origin)}</strong>
            <Badge>{t('Connected from another app')}</Badge>
          </li>
        ))}
      </ul>
      {remotes.length + elsewhere.length === 0 && !user.homeInstance && (
        <p className="muted">
          <Phrase text="None yet. Other instances are servers like this one, run by other people. You can use your account there too." />
        </p>
      )}
    </Card>
  )
}

export function ConnectedInstances({ user }: { user: User }) {
  const remotes = useStore(useClient().connections)
  const { elsewhere, forget } = useRegistry(user, remotes)
  /** Empty: a new instance. Null: no dialog. */
  const [connecting, setConnecting] = useState<string | null>(null)
  const isLocal = !user.homeInstance
  const actsOn = (origin: string) => ({ onConnect: () => setConnecting(origin), onRemoved: () => void forget(origin) })
  return (
    <Card
      {...cardOf(user)}
      action={isLocal && <Button size="small" icon="plus" text="Connect" onClick={() => setConnecting('')} />}
    >
      <ul className="list">
        {remotes.map((remote) => (
          <InstanceRow key={remote.origin} remote={remote} {...actsOn(remote.origin)} />
        ))}
        {elsewhere.map((entry) => (
          <ElsewhereRow key={entry.origin} entry={entry} {...actsOn(entry.origin)} />
        ))}
      </ul>
      {remotes.length + elsewhere.length === 0 && isLocal && (
        <EmptyState icon="link">
          {t('No connected instances yet. Connect to one to use your account there.')}
        </EmptyState>
      )}
      {connecting !== null && <ConnectDialog origin={connecting} onClose={() => setConnecting(null)} />}
    </Card>
  )
}

type Acts = { onConnect: () => void; onRemoved: () => void }

// eslint-disable-next-line max-lines-per-function -- one row with its states
function InstanceRow({ remote, onConnect, onRemoved }: Acts & { remote: RemoteInstance }) {
  const { connections } = useClient()
  const mutation = useMutation()
  const { origin, state, passwordSync, pendingPasswordSync } = remote
  const host = hostOf(origin)
  const { tone, label, connectable } = states[state]
  const remoteError = state === 'connected' ? null : remote.error && translate(remote.error)
  const problem = mutation.error ? formatError(mutation.error) : remoteError
  const remove = () => void mutation.run(() => connections.remove(origin).then(onRemoved))
  return (
    <li className="instance">
      <span className="instance__names">
        <StatusDot on={remote.online} />
        <strong>{host}</strong>
        <span className="muted small">
          <UserName>{remote.username}</UserName>
        </span>
      </span>
      <span className="instance__state" role="status">
        <Badge tone={tone}>{t(label)}</Badge>
        {passwordSync !== 'idle' && <Badge tone="warning">{t(passwordSyncs[passwordSync])}</Badge>}
        {passwordSync === 'idle' && pendingPasswordSync && (
          <Badge tone="bad">{t('Still uses your old password')}</Badge>
        )}
        {remote.token && (
          <span className="small muted">
            {remote.ownPassword ? t('Separate password') : t('Same password as here')}
          </span>
        )}
        {problem && <span className="small row-error">{problem}</span>}
      </span>
      <span className="instance__actions">
        {pendingPasswordSync && (
          <DialogButton
            size="small"
            text="Update password"
            dialog={(close) => <ResendDialog origin={origin} onClose={close} />}
          />
        )}
        {state === 'unreachable' && (
          <Button
            size="small"
            icon="refresh"
            busy={mutation.busy}
            text="Try again"
            onClick={() => void mutation.run(() => connections.retry(origin))}
          />
        )}
        {state === 'connected' && (
          <Button
            size="small"
            variant="plain"
            text="Disconnect"
            fullText="Disconnect {host}"
            values={{ host }}
            onClick={() => connections.disconnect(origin)}
          />
        )}
        {connectable && (
          <Button size="small" text="Connect" fullText="Connect to {host}" values={{ host }} onClick={onConnect} />
        )}
        <IconButton icon="close" label={t('Remove {host} from the list', { host })} onClick={remove} />
      </span>
    </li>
  )
}

/** An instance to which another client of the user is connected. */
function ElsewhereRow({ entry, onConnect, onRemoved }: Acts & { entry: RegistryEntry }) {
  const host = hostOf(entry.origin)
  return (
    <li className="instance">
      <span className="instance__names">
        <UserName strong>{entry.label || host}</UserName>
        <span className="muted small">
          <UserName>{entry.username}</UserName>
        </span>
      </span>
      <span className="instance__state" role="status">
        <Badge>{t('Connected from another app')}</Badge>
        {entry.lastConnectedAt !== null && (
          <span className="small muted">
            <RelativeTime at={entry.lastConnectedAt} />
          </span>
        )}
      </span>
      <span className="instance__actions">
        <Button size="small" text="Connect" fullText="Connect to {host}" values={{ host }} onClick={onConnect} />
        <IconButton icon="close" label={t('Remove {host} from the list', { host })} onClick={onRemoved} />
      </span>
    </li>
  )
}
