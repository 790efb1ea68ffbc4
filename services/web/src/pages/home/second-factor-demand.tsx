import { ApiError, type User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { SetUpDialog } from './second-factor-dialogs.tsx'

/** Whether an admin must turn one on before the administration opens. Contract: 3, requireSecondFactorForAdmins. */
export function useSecondFactorDemand({ id, isAdmin, secondFactor }: User): boolean {
  const client = useClient()
  const mayBeDemanded = isAdmin && !secondFactor
  const { error } = useQuery(`demand ${id} ${mayBeDemanded}`, async (signal) =>
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
        <Notice tone="warning">
          <p>{t('This instance demands a second factor of its admins: the administration opens when yours is on.')}</p>
          <Button size="small" variant="primary" onClick={() => setSettingUp(true)}>
            {t('Turn on the second factor')}
          </Button>
        </Notice>
      )}
      {isSettingUp && <SetUpDialog user={user} onClose={() => setSettingUp(false)} />}
    </>
  )
}
