import { ApiError } from '@gatehouse/client'
import { useState } from 'react'
import { useText } from '../../components/field.tsx'
import { hostOf } from '../../components/format.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { AddressField, parseInstanceAddress } from '../../components/instance-address.tsx'
import type { Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { usePassword } from './use-password.tsx'

/** `origin`: empty for a new instance. */
export function ConnectDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const own = usePassword({ name: 'connect-password' })
  const address = useText(origin, own.mutation)
  const target = parseInstanceAddress(address.value) ?? ''
  const host = hostOf(target || origin)
  const remote = usePassword({ name: 'remote-password', label: t('Your password at {host}', { host }) })
  /** An account of that name exists there, with another password than the issued one. */
  const [isTaken, setTaken] = useState(false)
  const connect: Work<void> = async (signal, client) => {
    const remotePassword = isTaken ? remote.value : undefined
    try {
      await client.connections.connect(target, own.value, { signal, remotePassword })
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) setTaken(true)
      throw error
    }
  }
  return (
    <ConfirmDialog
      dialog="ConnectDialog"
      title={origin ? t('Connect to {host}', { host: hostOf(origin) }) : t('Connect an instance')}
      submit={t('Connect')}
      confirmation={isTaken ? remote : own}
      act={connect}
      done={t('Connected to {host}.', { host })}
      onClose={onClose}
    >
      <p className="muted">
        {isTaken
          ? t('Your account at {host} has a password that this instance does not know. Enter it once.', { host })
          : t(
              'This creates an account for you on that instance, linked to this one. It gets a password of its own, which this instance keeps for you.',
            )}
      </p>
      <AddressField
        label={t('Address of the instance')}
        name="instance-address"
        {...address}
        disabled={origin !== '' || isTaken}
      />
    </ConfirmDialog>
  )
}

/** The instance missed a change. Spec: Client session behaviour, password propagation. */
export function ResendDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const password = usePassword({ name: 'resend-password', label: t('Your current password') })
  const host = hostOf(origin)
  return (
    <ConfirmDialog
      dialog="ResendDialog"
      title={t('Send your password to {host}', { host })}
      submit={t('Send')}
      confirmation={password}
      act={(signal, client) => client.passwordPropagation.resend(origin, password.value, { signal })}
      done={t('Password sent to {host}.', { host })}
      onClose={onClose}
    >
      <p className="muted">
        {t('This instance could not be reached when you changed your password and still has the old one.')}
      </p>
    </ConfirmDialog>
  )
}
