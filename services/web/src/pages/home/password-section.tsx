import type { User } from '@gatehouse/client'
import { Card } from '../../components/card.tsx'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Form } from '../../components/field.tsx'
import { formatDateTime, hostOf } from '../../components/format.ts'
import { useNewPassword } from '../../components/new-password.tsx'
import { useAppContext, useClient, useStore, useToast } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { useProviders } from '../../providers.ts'
import { useOwnPassword } from './use-password.tsx'

export function PasswordSection({ user }: { user: User }) {
  return user.hasPassword === false ? <FirstPassword user={user} /> : <OwnPassword user={user} />
}

/** Only where it could log in. Contract: 8, PASSWORDS. */
function FirstPassword({ user }: { user: User }) {
  if (useProviders().passwords !== true) return null
  return (
    <Card
      title={t('Password')}
      text="You have no password here. With one, you can also log in without an identity provider."
    >
      <PasswordForm user={user} />
    </Card>
  )
}

function OwnPassword({ user }: { user: User }) {
  const remotes = useStore(useClient().connections)
  const sharing = user.homeInstance ? [] : remotes.filter(({ token, ownPassword }) => token && !ownPassword)
  return (
    <Card title={t('Password')} text="Changing your password logs you out everywhere else.">
      {user.passwordChangedAt && (
        <p className="small muted">
          {t('You last changed your password or logged out everywhere on {date}', {
            date: formatDateTime(user.passwordChangedAt),
          })}
        </p>
      )}
      {sharing.length > 0 && (
        <p className="small muted">
          {t('Your new password also applies on {hosts}. Other connected instances have separate passwords.', {
            hosts: sharing.map(({ origin }) => hostOf(origin)).join(', '),
          })}
        </p>
      )}
      <PasswordForm user={user} />
    </Card>
  )
}

/** A federated account needs no current password. Contract: 3, confirmation by password. */
export function PasswordForm({ user }: { user: User }) {
  const { client, now } = useAppContext()
  const showToast = useToast()
  const current = useOwnPassword('current-password', {
    label: t('Current password'),
    missing: t('Enter your current password.'),
  })
  const { mutation, isByProvider } = current
  const next = useNewPassword(mutation)

  const submit = async () => {
    // Not aborted on unmount: the response holds the new token of this session.
    const { proof } = current
    const confirmation = 'ticket' in proof ? proof : user.homeInstance === null && { currentPassword: proof.password }
    const passwords = { newPassword: next.value, ...confirmation }
    if (!(await mutation.run(() => client.changePassword(passwords)))) return false
    current.reset()
    next.reset()
    const self = client.session.getSnapshot().user
    if (self)
      client.session.setUser({ ...self, passwordChangeRequired: false, passwordChangedAt: now(), hasPassword: true })
    showToast(
      isByProvider
        ? t('Password set. You’re logged out everywhere else.')
        : t('Password changed. You’re logged out everywhere else.'),
    )
    return true
  }
  return (
    <Form className="stack stack--tight" onSubmit={submit}>
      <input
        className="visually-hidden"
        type="text"
        name="username"
        id="username"
        autoComplete="username"
        value={user.username}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      {current.field}
      {/* A trip to the provider would drop what is typed here. */}
      {current.isConfirmed && <div className="two-columns">{next.fields}</div>}
      <MutationError mutation={mutation} />
      {current.isConfirmed && (
        <div className="button-row">
          <SubmitButton mutation={mutation} text={isByProvider ? 'Set a password' : 'Change password'} />
        </div>
      )}
    </Form>
  )
}
