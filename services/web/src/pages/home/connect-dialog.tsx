import { useState } from 'react'
import { hostOf } from '../../components/format.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { AddressField, parseInstanceAddress } from '../../components/instance-address.tsx'
import { useClient } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { usePassword } from './use-password.tsx'

/** `origin`: empty for a new instance. */
export function ConnectDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const client = useClient()
  const { field, isSubmitted, value, ...password } = usePassword({ name: 'connect-password' })
  const [address, setAddress] = useState(origin)
  const target = parseInstanceAddress(address) ?? ''
  return (
    <ConfirmDialog
      title={origin ? t('Connect to {host}', { host: hostOf(origin) }) : t('Connect an instance')}
      submit={t('Connect')}
      mutation={password.mutation}
      check={() => password.check() && target !== ''}
      act={(signal) => client.connections.connect(target, value, { signal })}
      done={t('Connected to {host}.', { host: hostOf(target) })}
      onClose={onClose}
    >
      <p className="muted">
        {t('This creates an identity for you on that instance, linked to this account, with the same password.')}
      </p>
      <AddressField
        label={t('Address of the instance')}
        name="instance-address"
        value={address}
        disabled={origin !== ''}
        submitted={isSubmitted}
        onText={(text) => (setAddress(text), password.mutation.clear())}
      />
      {field}
    </ConfirmDialog>
  )
}

/** The instance missed a change. Spec: Client session behaviour, password propagation. */
export function ResendDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const client = useClient()
  const { field, value, check, mutation } = usePassword({ name: 'resend-password', label: t('Your current password') })
  const host = hostOf(origin)
  return (
    <ConfirmDialog
      title={t('Send your password to {host}', { host })}
      submit={t('Send')}
      mutation={mutation}
      check={check}
      act={(signal) => client.passwordPropagation.resend(origin, value, { signal })}
      done={t('Password sent to {host}.', { host })}
      onClose={onClose}
    >
      <p className="muted">
        {t('This instance could not be reached when you changed your password and still has the old one.')}
      </p>
      {field}
    </ConfirmDialog>
  )
}
