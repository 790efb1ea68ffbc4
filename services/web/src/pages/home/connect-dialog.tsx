import { ApiError } from '@gatehouse/client'
import { useState } from 'react'
import { useText } from '../../components/field.tsx'
import { hostOf } from '../../components/format.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { AddressField, parseInstanceAddress } from '../../components/instance-address.tsx'
import { useClient, useStore, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { usePassword } from './use-password.tsx'

/** `origin`: empty for a new instance. */
export function ConnectDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const { user } = useStore(useClient().session)
  // Without a password, the one that this instance makes for the other is enough.
  const own = usePassword({ name: 'connect-password', isNeeded: user?.hasPassword !== false })
  const address = useText(origin, own.mutation)
  const target = parseInstanceAddress(address.value) ?? ''
  const host = hostOf(target || origin)
  const remote = usePassword({ name: 'remote-password', label: t('Your password on {host}', { host }) })
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
      title={origin ? t('Connect to {host}', { host: hostOf(origin) }) : t('Connect to an instance')}
      submit={t('Connect')}
      confirmation={isTaken ? remote : own}
      act={connect}
      done={t('Connected to {host}.', { host })}
      onClose={onClose}
    >
      <p className="muted">
        {isTaken
          ? t('You already have an account on {host}. Enter its password once to connect it.', { host })
          : t(
              'If you don’t have an account on that instance yet, this creates one there and links it to your account here. The new account gets its own password, which this instance stores for you.',
            )}
      </p>
      <AddressField
        label={t('Instance address')}
        name="instance-address"
        {...address}
        disabled={origin !== '' || isTaken}
      />
    </ConfirmDialog>
  )
}

/** The instance missed a change. Spec: Client session behaviour, password propagation. */
export function ResendDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const password = usePassword({ name: 'resend-password', label: t('Current password') })
  const host = hostOf(origin)
  return (
    <ConfirmDialog
      dialog="ResendDialog"
      title={t('Update your password on {host}', { host })}
      submit={t('Update')}
      confirmation={password}
      act={(signal, client) => client.passwordPropagation.resend(origin, password.value, { signal })}
      done={t('Password updated on {host}.', { host })}
      onClose={onClose}
    >
      <p className="muted">
        {t('{host} couldn’t be reached when you changed your password, so it still uses the old one.', { host })}
      </p>
    </ConfirmDialog>
  )
}
