import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { useClient, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { RenewCodesDialog, SetUpDialog, TurnOffDialog } from './second-factor-dialogs.tsx'

const dialogs = { setUp: SetUpDialog, renew: RenewCodesDialog, turnOff: TurnOffDialog }

/** Contract: 3, Second factor. */
export function SecondFactorSection({ user }: { user: User }) {
  const [opened, setOpened] = useState<keyof typeof dialogs | null>(null)
  const OpenDialog = opened && dialogs[opened]
  const isOn = user.secondFactor === true
  const client = useClient()
  const { data: state } = useQuery(`second factor ${isOn} ${opened}`, async (signal) =>
    isOn ? await client.call('readSecondFactor', { signal }) : null,
  )
  return (
    <Card
      title={t('Second factor')}
      text={t('A code of an app on your phone, beside your password: who knows the password alone cannot log in.')}
    >
      <div className="list">
        <ActionRow
          title={isOn ? t('On') : t('Off')}
          text={isOn ? t('A login asks for a code of your app.') : t('A login asks for your password only.')}
        >
          <Button
            size="small"
            variant={isOn ? 'danger' : 'outline'}
            onClick={() => setOpened(isOn ? 'turnOff' : 'setUp')}
          >
            {isOn ? t('Turn off the second factor') : t('Turn on the second factor')}
          </Button>
        </ActionRow>
        {isOn && (
          <ActionRow
            title={state ? t('Recovery codes left: {count}', { count: state.recoveryCodesLeft }) : t('Recovery codes')}
            text={t('Each lets you log in once without the app. Make new ones when few are left.')}
          >
            <Button size="small" onClick={() => setOpened('renew')}>
              {t('New recovery codes')}
            </Button>
          </ActionRow>
        )}
      </div>
      {OpenDialog && <OpenDialog user={user} onClose={() => setOpened(null)} />}
    </Card>
  )
}
