import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/notice.tsx'
import { useClient, useStore } from '../../context.ts'
import { ConnectDialog } from './connect-dialog.tsx'
import { InstanceRow } from './instance-row.tsx'

/** The other instances on which the user has an identity, each with the state of its connection. */
export function ConnectedInstances({ user }: { user: User }) {
  const client = useClient()
  const remotes = useStore(client.connections)
  /** The origin in the connect dialog, empty for a new instance; null while the dialog is closed. */
  const [connecting, setConnecting] = useState<string | null>(null)
  return (
    <section className="card" aria-labelledby="instances-head">
      <div className="card__header">
        <h2 id="instances-head">Connected instances</h2>
        {!user.homeInstance && (
          <Button size="small" icon="plus" onClick={() => setConnecting('')}>
            Connect
          </Button>
        )}
        <p>
          {user.homeInstance
            ? `This account belongs to ${user.homeInstance}. Manage its connections there.`
            : 'Instances where you use this account. When you change your password, it is changed there too.'}
        </p>
      </div>
      {remotes.length > 0 ? (
        <ul className="list">
          {remotes.map((remote) => (
            <InstanceRow key={remote.origin} remote={remote} onConnect={() => setConnecting(remote.origin)} />
          ))}
        </ul>
      ) : (
        !user.homeInstance && (
          <EmptyState icon="link">
            <p>No connected instances yet. Connect one to use this account there.</p>
          </EmptyState>
        )
      )}
      {connecting !== null && <ConnectDialog origin={connecting} onClose={() => setConnecting(null)} />}
    </section>
  )
}
