import { ApiError, type Endpoints, type User } from '@gatehouse/client'
import { Suspense, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { CopyButton, QrCode } from '../../components/copy-field.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { saveFile } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { useMutation, useQuery, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { useCode, usePassword, usePasswordAndCode } from './use-password.tsx'

const dialogs = { setUp: SetUpDialog, renew: RenewCodesDialog, turnOff: TurnOffDialog }

/** Contract: 3, Second factor. */
export function SecondFactorSection({ user }: { user: User }) {
  const [opened, setOpened] = useState<keyof typeof dialogs | null>(null)
  const OpenDialog = opened && dialogs[opened]
  const isOn = user.secondFactor === true
  const { data: state } = useQuery(`second factor ${isOn} ${opened}`, async (signal, client) =>
    isOn ? await client.call('readSecondFactor', { signal }) : null,
  )
  return (
    <Card
      title={t('Second factor')}
      text="A code of an app on your phone, beside your password: who knows the password alone cannot log in."
    >
      <div className="list">
        <ActionRow
          title={isOn ? t('On') : t('Off')}
          text={isOn ? t('A login asks for a code of your app.') : t('A login asks for your password only.')}
        >
          <Button
            size="small"
            variant={isOn ? 'danger' : 'outline'}
            text={isOn ? 'Turn off the second factor' : 'Turn on the second factor'}
            onClick={() => setOpened(isOn ? 'turnOff' : 'setUp')}
          />
        </ActionRow>
        {isOn && (
          <ActionRow
            title={state ? t('Recovery codes left: {count}', { count: state.recoveryCodesLeft }) : t('Recovery codes')}
            text={t('Each lets you log in once without the app. Make new ones when few are left.')}
          >
            <Button size="small" text="New recovery codes" onClick={() => setOpened('renew')} />
          </ActionRow>
        )}
      </div>
      {OpenDialog && <OpenDialog user={user} onClose={() => setOpened(null)} />}
    </Card>
  )
}

/** Whether an admin must turn one on before the administration opens. Contract: 3, requireSecondFactorForAdmins. */
export function useSecondFactorDemand({ id, isAdmin, secondFactor }: User): boolean {
  const mayBeDemanded = isAdmin && !secondFactor
  const { error } = useQuery(`demand ${id} ${mayBeDemanded}`, async (signal, client) =>
    mayBeDemanded ? await client.call('getSettings', { signal }) : null,
  )
  return mayBeDemanded && error instanceof ApiError && error.code === 'second_factor_setup_required'
}

/** The dialog stays when the demand is met: it shows the recovery codes. */
export function SecondFactorDemand({ user, isDemanded }: { user: User; isDemanded: boolean }) {
  const [isSettingUp, setSettingUp] = useState(false)
  return (
    <>
      {isDemanded && (
        <Notice
          tone="warning"
          text="This instance demands a second factor of its admins: the administration opens when yours is on."
        >
          <Button size="small" variant="primary" text="Turn on the second factor" onClick={() => setSettingUp(true)} />
        </Notice>
      )}
      {isSettingUp && <SetUpDialog user={user} onClose={() => setSettingUp(false)} />}
    </>
  )
}

type Props = { user: User; onClose: () => void }
type Secret = Endpoints['beginSecondFactor']['reply']

/** Password, then the secret and a code of it, then the recovery codes. Contract: 3, Second factor. */
function SetUpDialog({ user, onClose }: Props) {
  const password = usePassword({ name: 'second-factor-password' })
  return (
    <ConfirmDialog
      dialog="SetUpDialog"
      title={t('Turn on the second factor')}
      text="You need an authenticator app on your phone or computer. From then on a login asks for a code of that app beside your password."
      submit={t('Continue')}
      confirmation={password}
      act={(signal, client) => client.call('beginSecondFactor', { body: { password: password.value }, signal })}
      next={(secret) => <ConfirmStep user={user} secret={secret} onClose={onClose} />}
      onClose={onClose}
    />
  )
}

function ConfirmStep({ user, secret, onClose }: Props & { secret: Secret }) {
  const code = useCode('second-factor-code', useMutation())
  const confirm: Work<readonly string[]> = async (_, client) => {
    // Not aborted on unmount: nothing tells the codes again.
    const { recoveryCodes } = await client.call('confirmSecondFactor', { body: { code: code.value } })
    client.session.setUser({ ...user, secondFactor: true })
    return recoveryCodes
  }
  return (
    <ConfirmDialog
      dialog="ConfirmStep"
      title={t('Add this account to your app')}
      text="Scan the picture with your app, or enter the key there. Then type the six digits that the app shows."
      submit={t('Turn on')}
      confirmation={code}
      act={confirm}
      next={(codes) => <RecoveryCodes user={user} codes={codes} onClose={onClose} />}
      onClose={onClose}
    >
      <Suspense fallback={<div className="qr-code" />}>
        <QrCode text={secret.otpauthUri} label={t('QR code with the key')} />
      </Suspense>
      <div className="own-secret">
        <code className="own-secret__text" data-testid="second-factor-key">
          {secret.secret.match(/.{1,4}/g)?.join(' ')}
        </code>
        <CopyButton size="small" text={secret.secret} label={t('Copy the key')} />
      </div>
    </ConfirmDialog>
  )
}

function RecoveryCodes({ user, codes, onClose }: Props & { codes: readonly string[] }) {
  const text = codes.join('\n')
  const file = () => new Blob([`${location.host}, ${user.username}\n\n${text}\n`], { type: 'text/plain' })
  return (
    <Dialog
      dialog="RecoveryCodes"
      title={t('Your recovery codes')}
      closeLabel={t('I have saved them')}
      onClose={onClose}
    >
      <Notice
        tone="warning"
        text="These codes are shown only once. Each lets you log in once without the app: keep them where you find them without your phone."
      />
      <ol className="recovery-codes" data-testid="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div className="button-row">
        <CopyButton size="small" text={text} label={t('Copy the recovery codes')} data-first-focus />
        <Button size="small" text="Download" onClick={() => saveFile(file(), `${user.username}-recovery-codes.txt`)} />
      </div>
    </Dialog>
  )
}

/** Contract: 3, Second factor. */
function RenewCodesDialog({ user, onClose }: Props) {
  const { body, ...confirmation } = usePasswordAndCode('recovery-codes')
  return (
    <ConfirmDialog
      dialog="RenewCodesDialog"
      title={t('New recovery codes')}
      text="The codes that you have saved before no longer count then."
      submit={t('Make new codes')}
      confirmation={confirmation}
      act={async (_, client) => (await client.call('renewRecoveryCodes', { body })).recoveryCodes}
      next={(codes) => <RecoveryCodes user={user} codes={codes} onClose={onClose} />}
      onClose={onClose}
    />
  )
}

/** Contract: 3, Second factor. */
function TurnOffDialog({ user, onClose }: Props) {
  const { body, ...confirmation } = usePasswordAndCode('turn-off')
  return (
    <ConfirmDialog
      dialog="TurnOffDialog"
      title={t('Turn off the second factor')}
      text="From then on your password alone is enough to log in."
      submit={t('Turn off')}
      dangerous
      confirmation={confirmation}
      act={async (_, client) => {
        await client.call('endSecondFactor', { body })
        client.session.setUser({ ...user, secondFactor: false })
      }}
      done={t('The second factor is off.')}
      onClose={onClose}
    />
  )
}
