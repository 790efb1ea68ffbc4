import '../../styles/registering.css'
import { createRegistrationWatch } from '@gatehouse/client/registration'
import { routes } from '@gatehouse/client/routes'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { formatError } from '../../components/error-message.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useInstanceInfo, useStore } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { useProviders } from '../../providers.ts'
import { forgetReceipt, type Receipt } from '../../registration-receipt.ts'
import { AuthFrame } from './auth-frame.tsx'
import { OtherWays } from './other-ways.tsx'

type Status = ReturnType<ReturnType<typeof createRegistrationWatch>['getSnapshot']>['status']

const titles: Record<Status, Text> = {
  pending: 'Waiting for approval',
  approved: 'You’re in',
  ended: 'Registration ended',
}

/** What becomes of a registration that an admin decides on. Contract: 3, Approval. */
export function WaitingStep({ receipt, onOver }: { receipt: Receipt; onOver: () => void }) {
  const client = useClient()
  const [watch] = useState(() => createRegistrationWatch(client, receipt.receipt))
  const { status, error } = useStore(watch)
  useEffect(() => {
    const follow = () => (document.visibilityState === 'visible' ? watch.start() : watch.stop())
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      watch.stop()
    }
  }, [watch])
  const startOver = () => {
    forgetReceipt()
    onOver()
  }
  return (
    <AuthFrame title={t(titles[status])}>
      <div className="stack">
        {status === 'pending' && <Pending receipt={receipt} error={error} />}
        {status === 'approved' && <Approved receipt={receipt} />}
        {status === 'ended' && (
          <Notice
            tone="warning"
            text="This registration was denied, or nobody decided on it within 30 days. Its data has been deleted."
          />
        )}
        <Button
          variant={status === 'ended' ? 'primary' : 'plain'}
          wide
          text={status === 'ended' ? 'Register again' : 'Register another account'}
          onClick={startOver}
        />
      </div>
    </AuthFrame>
  )
}

function Pending({ receipt: { username }, error }: { receipt: Receipt; error: Error | null }) {
  const { info } = useInstanceInfo()
  const name = info?.name ?? t('this instance')
  return (
    <>
      <p>
        <Phrase
          text="Your registration as {username} is with the admins of {name}."
          values={{ username: <UserName strong>{username}</UserName>, name: <bdi>{name}</bdi> }}
        />
      </p>
      <ul className="registering__list muted">
        <li>
          {t('An admin reads it and decides. Until then you can’t log in, and nobody else can take your username.')}
        </li>
        <li>{t('This page shows the decision. You can close it and come back later in this browser.')}</li>
        <li>{t('On another device, try to log in: it works as soon as you’re approved.')}</li>
      </ul>
      <div role="status">{error && <p className="small muted">{formatError(error)}</p>}</div>
    </>
  )
}

function Approved({ receipt: { username, provider: id } }: { receipt: Receipt }) {
  const [, navigate] = useLocation()
  const provider = useProviders().providers.find((one) => one.id === id)
  return (
    <>
      <Notice tone="good">
        <p>
          <Phrase
            text="An admin approved your account {username}."
            values={{ username: <UserName strong>{username}</UserName> }}
          />
        </p>
      </Notice>
      {provider ? (
        <OtherWays providers={[provider]} text="Log in with {provider}" isFirst />
      ) : (
        <Button variant="primary" wide text="Log in" onClick={() => navigate(routes.login, { state: { username } })} />
      )}
    </>
  )
}
