import { ApiError } from '@gatehouse/client'
import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { Field, PasswordField } from '../../components/field.tsx'
import { hostOf, parseInstanceAddress } from '../../components/instance-address.ts'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t, translateRefusal } from '../../language/language.ts'

/** Connects to a new instance, or to the listed one at `origin` if it is not empty, with the password used here. */
export function ConnectDialog({ origin, onClose }: { origin: string; onClose: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [address, setAddress] = useState(origin)
  const [password, setPassword] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const target = parseInstanceAddress(address)
  const refused = isAboutPassword(mutation.error) ? mutation.error : null

  const submit = async () => {
    setSubmitted(true)
    if (!target || !password) return
    const done = await mutation.run((signal) => client.connections.connect(target, password, { signal }))
    if (!done) return
    showToast(t('Connected to {host}.', { host: hostOf(target) }))
    onClose()
  }
  return (
    <Dialog
      title={origin ? t('Connect to {host}', { host: hostOf(origin) }) : t('Connect an instance')}
      submit={t('Connect')}
      mutation={refused ? { ...mutation, error: null } : mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <p className="muted">
        {t('This creates an identity for you on that instance, linked to this account, with the same password.')}
      </p>
      <Field
        label={t('Address of the instance')}
        name="instance-address"
        placeholder="chat.example"
        inputMode="url"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        value={address}
        disabled={origin !== ''}
        onChange={(event) => (setAddress(event.target.value), mutation.clear())}
        error={submitted && !target ? t('Enter the address of an instance, like chat.example.') : null}
      />
      <PasswordField
        label={t('Your password')}
        name="connect-password"
        autoComplete="current-password"
        value={password}
        onChange={(event) => (setPassword(event.target.value), mutation.clear())}
        error={submitted && !password ? t('Enter your password.') : refused && translateRefusal(refused)}
      />
    </Dialog>
  )
}

/** The home instance refuses a wrong password with 403, the other instance one that differs there with 401. */
function isAboutPassword(error: Error | null): error is ApiError {
  if (!(error instanceof ApiError)) return false
  return error.status === 401 || (error.status === 403 && /password/i.test(error.message))
}
