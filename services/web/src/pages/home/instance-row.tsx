import type { RemoteInstance } from '@gatehouse/client'
import { useState } from 'react'
import { Badge, type BadgeTone, StatusDot } from '../../components/badge.tsx'
import { Button, IconButton } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { formatError } from '../../components/error-message.tsx'
import { PasswordField } from '../../components/field.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t, translate, type Text } from '../../language/language.ts'

const states: Record<RemoteInstance['state'], { tone: BadgeTone; label: Text }> = {
  connecting: { tone: 'neutral', label: 'Connecting…' },
  connected: { tone: 'good', label: 'Connected' },
  needs_password: { tone: 'warning', label: 'Needs your password' },
  unreachable: { tone: 'bad', label: 'Unreachable' },
  refused: { tone: 'bad', label: 'Refused' },
  disconnected: { tone: 'neutral', label: 'Disconnected' },
}

const passwordSyncs = {
  sending: 'Sending the new password…',
  retrying: 'New password not sent yet, retrying',
} as const satisfies Record<string, Text>

type Props = { remote: RemoteInstance; onConnect: () => void; onRemoved: () => void }

export function InstanceRow({ remote, onConnect, onRemoved }: Props) {
  const client = useClient()
  const mutation = useMutation()
  const [resending, setResending] = useState(false)
  const host = hostOf(remote.origin)
  const { tone, label } = states[remote.state]
  const problem = mutation.error
    ? formatError(mutation.error)
    : remote.state === 'connected'
      ? null
      : remote.error && translate(remote.error)
  return (
    <li className="instance">
      <span className="instance__names">
        <StatusDot on={remote.online} />
        <strong>{host}</strong>
        <span className="muted small">{remote.username}</span>
      </span>
      <span className="instance__state" role="status">
        <Badge tone={tone}>{t(label)}</Badge>
        {remote.passwordSync !== 'idle' && <Badge tone="warning">{t(passwordSyncs[remote.passwordSync])}</Badge>}
        {remote.passwordSync === 'idle' && remote.pendingPasswordSync && (
          <Badge tone="bad">{t('Still has your old password')}</Badge>
        )}
        {problem && <span className="small instance__error">{problem}</span>}
      </span>
      <span className="instance__actions">
        {remote.pendingPasswordSync && (
          <Button size="small" onClick={() => setResending(true)}>
            {t('Send password again')}
          </Button>
        )}
        {remote.state === 'unreachable' && (
          <Button
            size="small"
            icon="refresh"
            busy={mutation.busy}
            onClick={() => void mutation.run(() => client.connections.retry(remote.origin))}
          >
            {t('Try again')}
          </Button>
        )}
        {['needs_password', 'refused', 'disconnected'].includes(remote.state) && (
          <Button size="small" aria-label={t('Connect {host}', { host })} onClick={onConnect}>
            {t('Connect')}
          </Button>
        )}
        {remote.state === 'connected' && (
          <Button
            size="small"
            variant="plain"
            aria-label={t('Disconnect {host}', { host })}
            onClick={() => client.connections.disconnect(remote.origin)}
          >
            {t('Disconnect')}
          </Button>
        )}
        <IconButton
          icon="close"
          label={t('Remove {host} from the list', { host })}
          onClick={() => void mutation.run(() => client.connections.remove(remote.origin).then(onRemoved))}
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
  const submit = async () => {
    setSubmitted(true)
    if (!password) return
    const done = await mutation.run((signal) => client.passwordPropagation.resend(origin, password, { signal }))
    if (!done) return
    showToast(t('Password sent to {host}.', { host: hostOf(origin) }))
    onClose()
  }
  return (
    <Dialog
      title={t('Send your password to {host}', { host: hostOf(origin) })}
      submit={t('Send')}
      mutation={mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <p className="muted">
        {t('This instance could not be reached when you changed your password and still has the old one.')}
      </p>
      <PasswordField
        label={t('Your current password')}
        name="resend-password"
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={submitted && !password ? t('Enter your password.') : null}
      />
    </Dialog>
  )
}
