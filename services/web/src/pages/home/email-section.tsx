import { ApiError, type OwnEmail, type User } from '@gatehouse/client'
import { useEffect } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Switch } from '../../components/choices.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { describeEmail, emailStateOf } from '../../components/email-state.ts'
import { MutationError, QueryError } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { Badge, Skeleton } from '../../components/status.tsx'
import { useInstanceInfo, useMutation } from '../../hooks.ts'
import { currentLanguage, t, translateRefusal } from '../../language/language.ts'
import { useOwnAccount } from '../../own-account.ts'
import { useTripState, useTripText } from '../../provider-trips.ts'
import { useOwnPassword } from './use-password.tsx'

const dialogs = { set: EmailDialog, send: SendLinkDialog, remove: RemoveEmailDialog }

/** Only while the instance sends mail. Contract: 3, Mail. */
export function EmailSection({ user }: { user: User }) {
  const { info } = useInstanceInfo()
  return info?.mail ? <EmailCard user={user} /> : null
}

function EmailCard({ user }: { user: User }) {
  const { account, ...query } = useOwnAccount(user)
  const email = account?.email ?? null
  const [opened, setOpened] = useTripState<keyof typeof dialogs | null>('email', null)
  const OpenDialog = opened && dialogs[opened]
  useRefetchOnReturn(email?.confirmed === false, query.refetch)
  return (
    <Card
      title={t('Email address')}
      text="If you can’t log in anymore, you get a link to set a password. You also get a mail when something important about your account changes. Only you and admins can see the address."
    >
      <QueryError query={query} />
      {!account && query.loading && <Skeleton rows={1} />}
      {account && (
        <div className="list">
          <EmailRow email={email} onOpen={setOpened} />
          {email?.confirmed && <NoticesSwitch isOn={account.emailNotices === true} onChanged={query.refetch} />}
        </div>
      )}
      {account && OpenDialog && <OpenDialog email={email} onClose={() => setOpened(null)} onDone={query.refetch} />}
    </Card>
  )
}

/** The link of the mail opens in another tab, or on another device. */
function useRefetchOnReturn(isWaiting: boolean, refetch: () => void): void {
  useEffect(() => {
    if (!isWaiting) return
    const look = () => document.visibilityState === 'visible' && refetch()
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [isWaiting, refetch])
}

type RowProps = { email: OwnEmail | null; onOpen: (dialog: keyof typeof dialogs) => void }

function EmailRow({ email, onOpen }: RowProps) {
  const state = email && emailStateOf(email)
  return (
    <div className="action-row">
      <span>
        <span>
          <strong>{email ? <bdi translate="no">{email.address}</bdi> : t('No email address')}</strong>{' '}
          {state && <Badge tone={state.tone}>{t(state.label)}</Badge>}
        </span>
        <span className="muted">
          {t(email ? describeEmail(email) : 'If you can’t log in anymore, only an admin can help you.')}
        </span>
      </span>
      <div className="button-row">
        {email && (!email.confirmed || email.bounced) && (
          <Button size="small" text="Send again" onClick={() => onOpen('send')} />
        )}
        {email ? (
          <>
            <Button size="small" text="Change" fullText="Change email address" onClick={() => onOpen('set')} />
            <Button
              size="small"
              variant="danger"
              text="Remove"
              fullText="Remove email address"
              onClick={() => onOpen('remove')}
            />
          </>
        ) : (
          <Button size="small" text="Add an email address" onClick={() => onOpen('set')} />
        )}
      </div>
    </div>
  )
}

/** Notices of other changes are always sent. */
function NoticesSwitch({ isOn, onChanged }: { isOn: boolean; onChanged: () => void }) {
  const mutation = useMutation()
  const turn = async (on: boolean) => {
    const done = on ? t('You’ll be told about logins from new devices.') : t('You won’t be told about logins anymore.')
    await mutation.run((signal, client) => client.call('patchSelf', { body: { emailNotices: on }, signal }), done)
    onChanged()
  }
  return (
    <div>
      <Switch
        label={t('Mail me about logins from new devices')}
        hint={t('From a device or network that you haven’t used in the last 30 days. Other notices are always sent.')}
        on={isOn}
        onChange={(on) => void turn(on)}
      />
      {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
    </div>
  )
}

type Props = { email: OwnEmail | null; onClose: () => void; onDone: () => void }

const tellSent = ({ email: { address, confirmed } }: { email: OwnEmail }) =>
  t(confirmed ? '{address} is already confirmed.' : 'We’ve sent a link to {address}.', { address })

function EmailDialog({ email, ...props }: Props) {
  const { proof, field, mutation } = useOwnPassword('email-password')
  const address = useTripText('email address', '', mutation)
  const { error } = mutation
  const refusal = error instanceof ApiError && error.code === 'email_invalid' ? translateRefusal(error) : null
  const typed = address.value.trim()
  return (
    <ConfirmDialog
      dialog="EmailDialog"
      title={email ? t('Change email address') : t('Add an email address')}
      text={
        email
          ? 'We’ll send a link to the new address to confirm it, and tell the old one.'
          : 'We’ll send a link to this address to confirm it.'
      }
      submit={t('Send link')}
      confirmation={{ field, mutation: refusal ? { ...mutation, error: null } : mutation }}
      act={(signal, client) =>
        client.call('setEmail', { body: { email: typed, language: currentLanguage(), ...proof }, signal })
      }
      done={tellSent}
      {...props}
    >
      <Field
        verbatim
        label={t('Email address')}
        name="email"
        inputMode="email"
        autoComplete="email"
        {...address}
        problem={/.@./.test(typed) ? null : t('Enter an email address, such as alice@mail.example.')}
        error={refusal}
      />
    </ConfirmDialog>
  )
}

function SendLinkDialog({ email, ...props }: Props) {
  const { proof, ...confirmation } = useOwnPassword('send-link-password')
  const address = email?.address ?? ''
  return (
    <ConfirmDialog
      dialog="SendLinkDialog"
      title={t('Send the link again')}
      text="We’ll send a new link to {address}. The old link stops working."
      values={{ address }}
      submit={t('Send link')}
      confirmation={confirmation}
      act={(signal, client) =>
        client.call('setEmail', { body: { email: address, language: currentLanguage(), ...proof }, signal })
      }
      done={tellSent}
      {...props}
    />
  )
}

function RemoveEmailDialog({ email: _, ...props }: Props) {
  const { proof, ...confirmation } = useOwnPassword('email-removal-password')
  return (
    <ConfirmDialog
      dialog="RemoveEmailDialog"
      title={t('Remove email address')}
      text="You won’t be able to reset your password yourself, and you’ll get no more notices."
      submit={t('Remove')}
      dangerous
      confirmation={confirmation}
      act={(signal, client) => client.call('removeEmail', { body: proof, signal })}
      done={t('Email address removed.')}
      {...props}
    />
  )
}
