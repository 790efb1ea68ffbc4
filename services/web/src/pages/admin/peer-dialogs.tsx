import type { Peer } from '@gatehouse/client'
import { useState } from 'react'
import { hostOf } from '../../components/format.ts'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { SubmitButton } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'

type DialogProps = { peer: Peer; onClose: () => void; onChanged: () => void }

const confirmations = {
  revoke: {
    endpoint: 'revokePeer',
    label: 'Revoke',
    title: 'Revoke {name}',
    done: '{host} is no longer a peer.',
    text: 'The two instances refuse each other’s requests from now on. Accounts are not changed.',
  },
  reset: {
    endpoint: 'resetPeer',
    label: 'Reset',
    title: 'Reset {name}',
    done: '{host} was reset.',
    text: 'This instance forgets the peering. A new request is needed to become peers again.',
  },
  forget: {
    endpoint: 'forgetPeer',
    label: 'Forget',
    title: 'Forget {name}',
    done: '{host} was forgotten.',
    text: 'The instance leaves this list, and may ask to become a peer again.',
  },
} as const

export type ConfirmedAct = keyof typeof confirmations

export function PeerActDialog({ act, peer, onClose, onChanged }: DialogProps & { act: ConfirmedAct }) {
  const client = useClient()
  const { label, title, done, text, endpoint } = confirmations[act]
  const host = hostOf(peer.origin)
  return (
    <ConfirmDialog
      title={t(title, { name: host })}
      submit={t(label)}
      dangerous
      done={t(done, { host })}
      act={() => client.call(endpoint, { params: { id: peer.id } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t(text)}</p>
    </ConfirmDialog>
  )
}

const maxRotationDays = 365

/** Contract: 7, rotation. */
export function RotationDialog({ peer, onClose, onChanged }: DialogProps) {
  const client = useClient()
  const rotation = useMutation()
  const saving = useMutation()
  const [typed, setTyped] = useState(String(peer.autoRotateIntervalDays))
  const days = Number(typed)
  const valid = Number.isInteger(days) && days >= 1 && days <= maxRotationDays
  const finish = (done: boolean) => {
    if (!done) return
    onClose()
    onChanged()
  }
  const params = { id: peer.id }
  const rotate = async () =>
    finish(await rotation.run(() => client.call('rotatePeer', { params }), t('The secret was rotated.')))
  const save = async () => {
    const body = { autoRotateIntervalDays: days }
    if (valid) finish(await saving.run(() => client.call('patchPeer', { params, body }), t('Saved.')))
  }
  return (
    <Dialog
      title={t('Secret of {host}', { host: hostOf(peer.origin) })}
      submit={t('Save')}
      mutation={rotation.busy || rotation.error ? rotation : saving}
      actions={
        <SubmitButton mutation={rotation} type="button" variant="outline" onClick={() => void rotate()}>
          {t('Rotate now')}
        </SubmitButton>
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
        onText={setTyped}
        error={valid ? null : t('Enter a number from 1 to {maxRotationDays}.', { maxRotationDays })}
      />
    </Dialog>
  )
}
