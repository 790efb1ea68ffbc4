import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useStore } from '../../hooks/use-store.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ConnectDialog } from './connect-dialog.tsx'
import { InstanceRow } from './instance-row.tsx'

/** The other instances of the federation where one has an identity, with what each of them is doing. */
export function Instances({ user }: { user: User }) {
  const remotes = useStore(client.connections)
  const [connecting, setConnecting] = useState<string | null>(null)
  return (
    <section className="wall" aria-labelledby="instances-head">
      <div className="wall__head">
        <h2 id="instances-head">Connected instances</h2>
        {!user.homeInstance && (
          <Button size="small" icon="plus" onClick={() => setConnecting('')}>
            Connect
          </Button>
        )}
        <p>
          {user.homeInstance
            ? `This identity belongs to ${user.homeInstance}. Its connections are kept there.`
            : 'Your account here is your identity on these instances too. A new password is passed on to them.'}
        </p>
      </div>
      {remotes.length > 0 ? (
        <ul className="rows">
          {remotes.map((remote) => (
            <InstanceRow key={remote.origin} remote={remote} onConnect={() => setConnecting(remote.origin)} />
          ))}
        </ul>
      ) : (
        !user.homeInstance && (
          <Empty icon="link">
            <p>No other instance yet. Connect one, and your friends there are a step away.</p>
          </Empty>
        )
      )}
      {connecting !== null && <ConnectDialog origin={connecting} onClose={() => setConnecting(null)} />}
    </section>
  )
}
