import type { RemoteInstance } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { hostOf } from '../../parts/host-of.ts'
import { Lantern } from '../../parts/lantern.tsx'
import { Pill, type PillTone } from '../../parts/pill.tsx'
import { sayProblem } from '../../parts/say-problem.ts'
import { ResendDialog } from './resend-dialog.tsx'

const states: Record<RemoteInstance['state'], { tone: PillTone; words: string }> = {
  connecting: { tone: 'calm', words: 'Connecting…' },
  connected: { tone: 'good', words: 'Connected' },
  needs_password: { tone: 'warning', words: 'Needs your password' },
  unreachable: { tone: 'bad', words: 'Unreachable' },
  refused: { tone: 'bad', words: 'Refused' },
  disconnected: { tone: 'calm', words: 'Disconnected' },
}

const syncs = { sending: 'Passing on the new password…', retrying: 'New password not passed on yet, still trying' }

export function InstanceRow({ remote, onConnect }: { remote: RemoteInstance; onConnect: () => void }) {
  const act = useAct()
  const [resending, setResending] = useState(false)
  const host = hostOf(remote.origin)
  const { tone, words } = states[remote.state]
  const problem = act.error ? sayProblem(act.error) : remote.state === 'connected' ? null : remote.error
  return (
    <li className="instance">
      <span className="instance__names">
        <Lantern lit={remote.online} />
        <strong>{host}</strong>
        <span className="quiet small">{remote.username}</span>
      </span>
      <span className="instance__state" role="status">
        <Pill tone={tone}>{words}</Pill>
        {remote.passwordSync !== 'idle' && <Pill tone="warning">{syncs[remote.passwordSync]}</Pill>}
        {remote.passwordSync === 'idle' && remote.pendingPasswordSync && (
          <Pill tone="bad">Still has your old password</Pill>
        )}
        {problem && <span className="small instance__problem">{problem}</span>}
      </span>
      <span className="instance__acts">
        {remote.pendingPasswordSync && (
          <Button size="small" onClick={() => setResending(true)}>
            Send password again
          </Button>
        )}
        {remote.state === 'unreachable' && (
          <Button
            size="small"
            icon="refresh"
            busy={act.busy}
            onClick={() => void act.run(() => client.connections.retry(remote.origin))}
          >
            Try again
          </Button>
        )}
        {['needs_password', 'refused', 'disconnected'].includes(remote.state) && (
          <Button size="small" aria-label={`Connect ${host}`} onClick={onConnect}>
            Connect
          </Button>
        )}
        {remote.state === 'connected' && (
          <Button
            size="small"
            look="plain"
            aria-label={`Disconnect ${host}`}
            onClick={() => client.connections.disconnect(remote.origin)}
          >
            Disconnect
          </Button>
        )}
        <IconButton
          icon="close"
          label={`Take ${host} off the list`}
          onClick={() => void act.run(() => client.connections.remove(remote.origin))}
        />
      </span>
      {resending && <ResendDialog origin={remote.origin} onClose={() => setResending(false)} />}
    </li>
  )
}
