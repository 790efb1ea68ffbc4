import { isSecurityNotice, type SecurityNotice } from '@gatehouse/client'
import { use, useEffect } from 'react'
import { BlockedCodesContext, useClient, useToast } from '../hooks.ts'
import { t, type Text } from '../language/language.ts'
import { formatDateTime } from './format.ts'
import { Notice } from './status.tsx'

/** Said on every page of the account. The page that made the change says the same. */
const changes: Record<Exclude<SecurityNotice['what'], 'second_factor_blocked'>, Text> = {
  second_factor_on: 'The second factor is on.',
  second_factor_off: 'The second factor is off.',
  passkey_added: 'The passkey was added.',
  passkey_removed: 'The passkey was removed.',
}

/** Contract: 3, Second factor, Passkeys. */
export function SecurityNotices({ userId }: { userId: string }) {
  const { live } = useClient()
  const showToast = useToast()
  const [blocked, setBlocked] = use(BlockedCodesContext)
  useEffect(
    () =>
      live.onEvent((event) => {
        if (!isSecurityNotice(event)) return
        if (event.what === 'second_factor_blocked') setBlocked({ userId, at: event.at })
        else showToast(t(changes[event.what]))
      }),
    [live, showToast, userId, setBlocked],
  )
  return (
    <div role="status">
      {blocked?.userId === userId && (
        <Notice tone="warning">
          <p>
            {t(
              'Wrong codes were entered ten times by {date}, with your password. If it was not you, somebody knows your password: change it.',
              { date: formatDateTime(blocked.at) },
            )}
          </p>
        </Notice>
      )}
    </div>
  )
}
