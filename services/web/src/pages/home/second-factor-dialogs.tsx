import { ApiError, type Endpoints, type User } from '@gatehouse/client'
import { lazy, Suspense, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useMutation, type Mutation } from '../../hooks.ts'
import { t, translateRefusal } from '../../language/language.ts'
import { saveFile } from '../../components/format.ts'
import { usePassword } from './use-password.tsx'

type Props = { user: User; onClose: () => void }
type Secret = Endpoints['beginSecondFactor']['reply']

const QrCode = lazy(() => import('../../components/qr-code.tsx').then((module) => ({ default: module.QrCode })))

/** Password, then the secret and a code of it, then the recovery codes. Contract: 3, Second factor. */
export function SetUpDialog({ user, onClose }: Props) {
  const client = useClient()
  const { field, value, check, mutation } = usePassword({ name: 'second-factor-password' })
  const [secret, setSecret] = useState<Secret | null>(null)
  if (secret) return <ConfirmStep user={user} secret={secret} onClose={onClose} />
  const begin = () =>
    check() &&
    mutation.run(async (signal) =>
      setSecret(await client.call('beginSecondFactor', { body: { password: value }, signal })),
    )
  return (
    <Dialog
      title={t('Turn on the second factor')}
      submit={t('Continue')}
      mutation={mutation}
      onSubmit={begin}
      onClose={onClose}
    >
      <p>
        {t(
          'You need an authenticator app on your phone or computer. From then on a login asks for a code of that app beside your password.',
        )}
      </p>
      {field}
    </Dialog>
  )
}

function ConfirmStep({ user, secret, onClose }: Props & { secret: Secret }) {
  const client = useClient()
  const { field, value, check, mutation } = useCode('second-factor-code', useMutation())
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  if (codes) return <RecoveryCodes user={user} codes={codes} onClose={onClose} />
  const confirm = () =>
    check() &&
    mutation.run(async () => {
      // Not aborted on unmount: nothing tells the codes again.
      const { recoveryCodes } = await client.call('confirmSecondFactor', { body: { code: value } })
      client.session.setUser({ ...user, secondFactor: true })
      setCodes(recoveryCodes)
    })
  return (
    <Dialog
      title={t('Add this account to your app')}
      submit={t('Turn on')}
      mutation={mutation}
      onSubmit={confirm}
      onClose={onClose}
    >
      <p>{t('Scan the picture with your app, or enter the key there. Then type the six digits that the app shows.')}</p>
      <Suspense fallback={<div className="qr-code" />}>
        <QrCode text={secret.otpauthUri} label={t('QR code with the key')} />
      </Suspense>
      <div className="own-secret">
        <code className="own-secret__text" data-testid="second-factor-key">
          {secret.secret.match(/.{1,4}/g)?.join(' ')}
        </code>
        <CopyButton size="small" text={secret.secret} label={t('Copy the key')} />
      </div>
      {field}
    </Dialog>
  )
}

function RecoveryCodes({ user, codes, onClose }: Props & { codes: readonly string[] }) {
  const text = codes.join('\n')
  const file = () => new Blob([`${location.host}, ${user.username}\n\n${text}\n`], { type: 'text/plain' })
  return (
    <Dialog title={t('Your recovery codes')} closeLabel={t('I have saved them')} onClose={onClose}>
      <Notice tone="warning">
        <p>
          {t(
            'These codes are shown only once. Each lets you log in once without the app: keep them where you find them without your phone.',
          )}
        </p>
      </Notice>
      <ol className="recovery-codes" data-testid="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div className="button-row">
        <CopyButton size="small" text={text} label={t('Copy the recovery codes')} data-first-focus />
        <Button size="small" onClick={() => saveFile(file(), `${user.username}-recovery-codes.txt`)}>
          {t('Download')}
        </Button>
      </div>
    </Dialog>
  )
}

/** Contract: 3, Second factor. */
export function RenewCodesDialog({ user, onClose }: Props) {
  const client = useClient()
  const password = usePassword({ name: 'recovery-codes-password' })
  const { field, value, check, mutation } = useCode('recovery-codes-code', password.mutation)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  if (codes) return <RecoveryCodes user={user} codes={codes} onClose={onClose} />
  const renew = () => {
    const isComplete = [password.check(), check()].every(Boolean)
    const body = { password: password.value, code: value }
    return (
      isComplete &&
      mutation.run(async () => setCodes((await client.call('renewRecoveryCodes', { body })).recoveryCodes))
    )
  }
  return (
    <Dialog
      title={t('New recovery codes')}
      submit={t('Make new codes')}
      mutation={mutation}
      onSubmit={renew}
      onClose={onClose}
    >
      <p>{t('The codes that you have saved before no longer count then.')}</p>
      {password.field}
      {field}
    </Dialog>
  )
}

/** Contract: 3, Second factor. */
export function TurnOffDialog({ user, onClose }: Props) {
  const client = useClient()
  const password = usePassword({ name: 'turn-off-password' })
  const { field, value, check, mutation } = useCode('turn-off-code', password.mutation)
  return (
    <ConfirmDialog
      title={t('Turn off the second factor')}
      submit={t('Turn off')}
      dangerous
      mutation={mutation}
      check={() => [password.check(), check()].every(Boolean)}
      act={async () => {
        await client.call('endSecondFactor', { body: { password: password.value, code: value } })
        client.session.setUser({ ...user, secondFactor: false })
      }}
      done={t('The second factor is off.')}
      onClose={onClose}
    >
      <p>{t('From then on your password alone is enough to log in.')}</p>
      {password.field}
      {field}
    </ConfirmDialog>
  )
}

/** A code that confirms an operation. A wrong one is shown at the field. */
function useCode(name: string, mutation: Mutation) {
  const [value, setValue] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const { error } = mutation
  const refusal = error instanceof ApiError && error.code === 'second_factor_incorrect' ? translateRefusal(error) : null
  const isMissing = !value.trim()
  return {
    value,
    field: (
      <Field
        verbatim
        label={t('Code')}
        name={name}
        autoComplete="one-time-code"
        value={value}
        onText={(text) => (setValue(text), mutation.clear())}
        error={isSubmitted && isMissing ? t('Enter the code of your app.') : refusal}
      />
    ),
    mutation: refusal === null ? mutation : { ...mutation, error: null },
    /** Called on submit. */
    check(): boolean {
      setSubmitted(true)
      return !isMissing
    },
  }
}
