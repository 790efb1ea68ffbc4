import { ApiError, type Endpoints, type User } from '@gatehouse/client'
import { Suspense } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { CopyButton, QrCode } from '../../components/copy-field.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { saveFile } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { useMutation, useQuery, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { useTripState } from '../../provider-trips.ts'
import { useCode, useOwnPassword, usePasswordAndCode } from './use-password.tsx'

const dialogs = { setUp: SetUpDialog, renew: RenewCodesDialog, turnOff: TurnOffDialog }

export function SecondFactorSection({ user }: { user: User }) {
  const [opened, setOpened] = useTripState<keyof typeof dialogs | null>('second factor', null)
  const OpenDialog = opened && dialogs[opened]
  const isOn = user.secondFactor === true
  const { data: state } = useQuery(`second factor ${isOn} ${opened}`, async (signal, client) =>
    isOn ? await client.call('readSecondFactor', { signal }) : null,
  )
  return (
    <Card
      title={t('Two-factor authentication')}
      text={
        user.hasPassword === false
          ? 'Logging in also asks for a code from an app on your phone.'
          : 'Logging in also asks for a code from an app on your phone, so a stolen password isn’t enough.'
      }
    >
      <div className="list">
        <ActionRow
          title={isOn ? t('On') : t('Off')}
          text={
            user.hasPassword === false
              ? t(isOn ? 'Logging in also requires a code.' : 'Logging in requires no code.')
              : t(isOn ? 'Logging in requires your password and a code.' : 'Logging in requires only your password.')
          }
        >
          <Button
            size="small"
            variant={isOn ? 'danger' : 'outline'}
            text={isOn ? 'Turn off two-factor' : 'Turn on two-factor'}
            onClick={() => setOpened(isOn ? 'turnOff' : 'setUp')}
          />
        </ActionRow>
        {isOn && (
          <ActionRow
            title={state ? t('Recovery codes left: {count}', { count: state.recoveryCodesLeft }) : t('Recovery codes')}
            text={t('Use one to log in without your app. Each works once. Generate new codes when you’re running low.')}
          >
            <Button size="small" text="Generate new codes" onClick={() => setOpened('renew')} />
          </ActionRow>
        )}
      </div>
      {OpenDialog && <OpenDialog user={user} onClose={() => setOpened(null)} />}
    </Card>
  )
}

/** Whether an admin must turn one on before the administration opens. Contract: 5, second factors of others. */
export function useSecondFactorDemand({ id, isAdmin, secondFactor }: User): boolean {
  const mayBeDemanded = isAdmin && !secondFactor
  const { error } = useQuery(`demand ${id} ${mayBeDemanded}`, async (signal, client) =>
    mayBeDemanded ? await client.call('getSettings', { signal }) : null,
  )
  return mayBeDemanded && error instanceof ApiError && error.code === 'second_factor_setup_required'
}

/** The dialog stays when the demand is met: it shows the recovery codes. */
export function SecondFactorDemand({ user, isDemanded }: { user: User; isDemanded: boolean }) {
  const [isSettingUp, setSettingUp] = useTripState('second factor demand', false)
  return (
    <>
      {isDemanded && (
        <Notice
          tone="warning"
          text="This instance requires two-factor authentication for admins. Turn it on to open the admin pages."
        >
          <Button size="small" variant="primary" text="Turn on two-factor" onClick={() => setSettingUp(true)} />
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
  const password = useOwnPassword('second-factor-password')
  return (
    <ConfirmDialog
      dialog="SetUpDialog"
      title={t('Turn on two-factor')}
      text={
        user.hasPassword === false
          ? 'You need an authenticator app on your phone or computer. After this, logging in also requires a code from the app.'
          : 'You need an authenticator app on your phone or computer. After this, logging in requires your password and a code from the app.'
      }
      submit={t('Continue')}
      confirmation={password}
      act={(signal, client) => client.call('beginSecondFactor', { body: password.proof, signal })}
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
      title={t('Set up your authenticator app')}
      text="Scan the QR code with your app, or enter the key manually. Then enter the six-digit code that the app shows."
      submit={t('Turn on')}
      confirmation={code}
      act={confirm}
      next={(codes) => <RecoveryCodes user={user} codes={codes} onClose={onClose} />}
      onClose={onClose}
    >
      <Suspense fallback={<div className="qr-code" />}>
        <QrCode text={secret.otpauthUri} label={t('QR code for your authenticator app')} />
      </Suspense>
      <div className="own-secret">
        <code translate="no" className="own-secret__text" data-testid="second-factor-key">
          {secret.secret.match(/.{1,4}/g)?.join(' ')}
        </code>
        <CopyButton size="small" text={secret.secret} label={t('Copy key')} />
      </div>
    </ConfirmDialog>
  )
}

function RecoveryCodes({ user, codes, onClose }: Props & { codes: readonly string[] }) {
  const text = codes.join('\n')
  const file = () => new Blob([`${location.host}, ${user.username}\n\n${text}\n`], { type: 'text/plain' })
  return (
    <Dialog dialog="RecoveryCodes" title={t('Your recovery codes')} closeLabel={t('I’ve saved them')} onClose={onClose}>
      <Notice
        tone="warning"
        text="These codes are shown only once. Use one to log in if you can’t use your app; each works once. Keep them somewhere you can get to without your phone."
      />
      <ol translate="no" className="recovery-codes" data-testid="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div className="button-row">
        <CopyButton size="small" text={text} label={t('Copy recovery codes')} data-first-focus />
        <Button size="small" text="Download" onClick={() => saveFile(file(), `${user.username}-recovery-codes.txt`)} />
      </div>
    </Dialog>
  )
}

function RenewCodesDialog({ user, onClose }: Props) {
  const { body, ...confirmation } = usePasswordAndCode('recovery-codes')
  return (
    <ConfirmDialog
      dialog="RenewCodesDialog"
      title={t('Generate new codes')}
      text="Your old codes will stop working."
      submit={t('Generate codes')}
      confirmation={confirmation}
      act={async (_, client) => (await client.call('renewRecoveryCodes', { body })).recoveryCodes}
      next={(codes) => <RecoveryCodes user={user} codes={codes} onClose={onClose} />}
      onClose={onClose}
    />
  )
}

function TurnOffDialog({ user, onClose }: Props) {
  const { body, ...confirmation } = usePasswordAndCode('turn-off')
  return (
    <ConfirmDialog
      dialog="TurnOffDialog"
      title={t('Turn off two-factor')}
      text={
        user.hasPassword === false
          ? 'After this, logging in requires no code.'
          : 'After this, your password alone is enough to log in.'
      }
      submit={t('Turn off')}
      dangerous
      confirmation={confirmation}
      act={async (_, client) => {
        await client.call('endSecondFactor', { body })
        client.session.setUser({ ...user, secondFactor: false })
      }}
      done={t('Two-factor authentication is off.')}
      onClose={onClose}
    />
  )
}
