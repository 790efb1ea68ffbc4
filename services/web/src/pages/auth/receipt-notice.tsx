import { routes } from '@gatehouse/client/routes'
import { useState } from 'react'
import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { Notice } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { readReceipt } from '../../registration-receipt.ts'

/** For who comes back to the login page. Contract: 3, Approval. */
export function ReceiptNotice() {
  const [receipt] = useState(readReceipt)
  const username = receipt?.username
  if (!username) return null
  return (
    <div className="session-end">
      <Notice>
        <p>
          <Phrase
            text="You registered as {username} in this browser."
            values={{ username: <UserName strong>{username}</UserName> }}
          />{' '}
          <Link href={routes.register}>{t('See whether it’s approved')}</Link>
        </p>
      </Notice>
    </div>
  )
}
