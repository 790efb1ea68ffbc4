import type { Peer } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { submitLabel } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t } from '../../language/language.ts'

type DialogProps = { peer: Peer; onClose: () => void; onChanged: () => void }

const confirmations = {
  revoke: {
    endpoint: 'revokePeer',
    label: 'Revoke',
    title: (host: string) => t('Revoke {name}', { name: host }),
    done: (host: string) => t('{host} is no longer a peer.', { host }),
    text: 'The two instances refuse each other’s requests from now on. Accounts are not changed.',
  },
  reset: {
    endpoint: 'resetPeer',
    label: 'Reset',
    title: (host: string) => t('Reset {name}', { name: host }),
    done: (host: string) => t('{host} was reset.', { host }),
    text: 'This instance forgets the peering. A new request is needed to become peers again.',
  },
  forget: {
    endpoint: 'forgetPeer',
    label: 'Forget',
    title: (host: string) => t('Forget {name}', { name: host }),
    done: (host: string) => t('{host} was forgotten.', { host }),
    text: 'The instance leaves this list, and may ask to become a peer again.',
  },
} as const

export type ConfirmedAct = keyof typeof confirmations

/** Asks before an act that ends or forgets a peering. */
export function PeerActDialog({ act, peer, onClose, onChanged }: DialogProps & { act: ConfirmedAct }) {
  const client = useClient()
  const { label, title, done, text, endpoint } = confirmations[act]
  const host = hostOf(peer.origin)
  return (
    <ConfirmDialog
      title={title(host)}
      submit={t(label)}
      done={done(host)}
      act={() => client.call(endpoint, { params: { id: peer.id } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t(text)}</p>
    </ConfirmDialog>
  )
}

const maxRotationDays = 365

/** Rotates the secret of a peer now, or sets how often that happens. Contract: 7, rotation. */
export function RotationDialog({ peer, onClose, onChanged }: DialogProps) {
  const client = useClient()
  const rotation = useMutation()
  const saving = useMutation()
  const showToast = useToast()
  const [typed, setTyped] = useState(String(peer.autoRotateIntervalDays))
  const days = Number(typed)
  const valid = Number.isInteger(days) && days >= 1 && days <= maxRotationDays
  const finish = (message: string) => {
    showToast(message)
    onClose()
    onChanged()
  }
  const rotate = async () => {
    if (await rotation.run(() => client.call('rotatePeer', { params: { id: peer.id } })))
      finish(t('The secret was rotated.'))
  }
  const save = async () => {
    if (
      valid &&
      (await saving.run(() =>
        client.call('patchPeer', { params: { id: peer.id }, body: { autoRotateIntervalDays: days } }),
      ))
    )
      finish(t('Saved.'))
  }
  return (
    <Dialog
      title={t('Secret of {host}', { host: hostOf(peer.origin) })}
      submit={t('Save')}
      mutation={rotation.busy || rotation.error ? rotation : saving}
      actions={
        <Button busy={rotation.busy} aria-disabled={rotation.waitSeconds > 0} onClick={() => void rotate()}>
          {submitLabel(rotation, t('Rotate now'))}
        </Button>
      }
      onSubmit={save}
      onClose={onClose}
    >
      <p>{t('The secret signs the requests between the two instances. Rotating it interrupts nothing.')}</p>
      <Field
        label={t('Rotate every … days')}
        name="rotation-days"
        inputMode="numeric"
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        error={valid ? null : t('Enter a number from 1 to {maxRotationDays}.', { maxRotationDays })}
      />
    </Dialog>
  )
}
