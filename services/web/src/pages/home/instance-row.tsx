import type { RemoteInstance } from '@gatehouse/client'
import { type SubmitEvent, useState } from 'react'
import { Badge, type BadgeTone, StatusDot } from '../../components/badge.tsx'
import { Button, IconButton } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { formatError, submitLabel } from '../../components/error-message.tsx'
import { PasswordField } from '../../components/field.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'

const states: Record<RemoteInstance['state'], { tone: BadgeTone; label: string }> = {
  connecting: { tone: 'neutral', label: 'Connecting…' },
  connected: { tone: 'good', label: 'Connected' },
  needs_password: { tone: 'warning', label: 'Needs your password' },
  unreachable: { tone: 'bad', label: 'Unreachable' },
  refused: { tone: 'bad', label: 'Refused' },
  disconnected: { tone: 'neutral', label: 'Disconnected' },
}

const passwordSyncs = { sending: 'Sending the new password…', retrying: 'New password not sent yet, retrying' }

export function InstanceRow({ remote, onConnect }: { remote: RemoteInstance; onConnect: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const [resending, setResending] = useState(false)
  const host = hostOf(remote.origin)
  const { tone, label } = states[remote.state]
  const problem = mutation.error ? formatError(mutation.error) : remote.state === 'connected' ? null : remote.error
  return (
    <li className="instance">
      <span className="instance__names">
        <StatusDot on={remote.online} />
        <strong>{host}</strong>
        <span className="muted small">{remote.username}</span>
      </span>
      <span className="instance__state" role="status">
        <Badge tone={tone}>{label}</Badge>
        {remote.passwordSync !== 'idle' && <Badge tone="warning">{passwordSyncs[remote.passwordSync]}</Badge>}
        {remote.passwordSync === 'idle' && remote.pendingPasswordSync && (
          <Badge tone="bad">Still has your old password</Badge>
        )}
        {problem && <span className="small instance__error">{problem}</span>}
      </span>
      <span className="instance__actions">
        {remote.pendingPasswordSync && (
          <Button size="small" onClick={() => setResending(true)}>
            Send password again
          </Button>
        )}
        {remote.state === 'unreachable' && (
          <Button
            size="small"
            icon="refresh"
            busy={mutation.busy}
            onClick={() => void mutation.run(() => client.connections.retry(remote.origin))}
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
            variant="plain"
            aria-label={`Disconnect ${host}`}
            onClick={() => client.connections.disconnect(remote.origin)}
          >
            Disconnect
          </Button>
        )}
        <IconButton
          icon="close"
          label={`Remove ${host} from the list`}
          onClick={() => void mutation.run(() => client.connections.remove(remote.origin))}
        />
      </span>
      {resending && <ResendDialog origin={remote.origin} onClose={() => setResending(false)} />}
    </li>
  )
}

/** Sends the password to an instance that missed its change. Spec: Client session behaviour, password propagation. */
function ResendDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [password, setPassword] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (!password) return
    const done = await mutation.run((signal) => client.passwordPropagation.resend(origin, password, { signal }))
    if (!done) return
    showToast(`Password sent to ${hostOf(origin)}.`)
    onClose()
  }
  return (
    <Dialog title={`Send your password to ${hostOf(origin)}`} onClose={onClose} locked={mutation.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p className="muted">
          This instance could not be reached when you changed your password and still has the old one.
        </p>
        <PasswordField
          label="Your current password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={submitted && !password ? 'Enter your password.' : null}
        />
        <DialogActions mutation={mutation}>
          <Button onClick={onClose} disabled={mutation.busy}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
            {submitLabel(mutation, 'Send')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
