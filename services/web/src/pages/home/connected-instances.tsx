import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button, IconButton } from '../../components/button.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { EmptyState } from '../../components/notice.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useClient, useStore } from '../../context.ts'
import { ConnectDialog } from './connect-dialog.tsx'
import { InstanceRow } from './instance-row.tsx'
import type { RegistryEntry } from './merge-registry.ts'
import { useRegistry } from './use-registry.ts'
import { t } from '../../language/language.ts'

/** The other instances on which the user has an identity, each with the state of its connection. */
export function ConnectedInstances({ user }: { user: User }) {
  const client = useClient()
  const remotes = useStore(client.connections)
  const { elsewhere, forget } = useRegistry(user, remotes)
  /** The origin in the connect dialog, empty for a new instance; null while the dialog is closed. */
  const [connecting, setConnecting] = useState<string | null>(null)
  return (
    <section className="card" aria-labelledby="instances-head">
      <div className="card__header">
        <h2 id="instances-head">{t('Connected instances')}</h2>
        {!user.homeInstance && (
          <Button size="small" icon="plus" onClick={() => setConnecting('')}>
            {t('Connect')}
          </Button>
        )}
        <p>
          {user.homeInstance
            ? t('This account belongs to {homeInstance}. Manage its connections there.', {
                homeInstance: user.homeInstance,
              })
            : t('Instances where you use this account. When you change your password, it is changed there too.')}
        </p>
      </div>
      {remotes.length + elsewhere.length > 0 ? (
        <ul className="list">
          {remotes.map((remote) => (
            <InstanceRow
              key={remote.origin}
              remote={remote}
              onConnect={() => setConnecting(remote.origin)}
              onRemoved={() => void forget(remote.origin)}
            />
          ))}
          {elsewhere.map((entry) => (
            <ElsewhereRow
              key={entry.origin}
              entry={entry}
              onConnect={() => setConnecting(entry.origin)}
              onForget={() => void forget(entry.origin)}
            />
          ))}
        </ul>
      ) : (
        !user.homeInstance && (
          <EmptyState icon="link">
            <p>{t('No connected instances yet. Connect one to use this account there.')}</p>
          </EmptyState>
        )
      )}
      {connecting !== null && <ConnectDialog origin={connecting} onClose={() => setConnecting(null)} />}
    </section>
  )
}

type ElsewhereRowProps = { entry: RegistryEntry; onConnect: () => void; onForget: () => void }

/** An instance to which another client of the user is connected. */
function ElsewhereRow({ entry, onConnect, onForget }: ElsewhereRowProps) {
  const host = hostOf(entry.origin)
  return (
    <li className="instance">
      <span className="instance__names instance__names--elsewhere">
        <strong>{entry.label || host}</strong>
        <span className="muted small">{entry.username}</span>
      </span>
      <span className="instance__state">
        <Badge>{t('Connected in another app')}</Badge>
        {entry.lastConnectedAt !== null && (
          <span className="small muted">
            <RelativeTime at={entry.lastConnectedAt} />
          </span>
        )}
      </span>
      <span className="instance__actions">
        <Button size="small" aria-label={t('Connect {host}', { host })} onClick={onConnect}>
          {t('Connect')}
        </Button>
        <IconButton icon="close" label={t('Remove {host} from the list', { host })} onClick={onForget} />
      </span>
    </li>
  )
}
