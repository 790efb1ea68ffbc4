import { listOwnedSpaces, type User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { DeletionResults, OwnedSpaces, useDeletionResults } from '../../components/deletion-results.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { useClient, useDeletionReport, useStore } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { useOwnPassword } from './use-own-password.tsx'

/** Deletes the account, confirmed by username and password. Lists the owned spaces because of which it is refused. */
type Props = { user: User; onClose: () => void; onExport: () => void }

export function DeleteAccountDialog({ user, onClose, onExport }: Props) {
  const client = useClient()
  const [, setDeletionReport] = useDeletionReport()
  const mutation = useMutation()
  const ownPassword = useOwnPassword(user, mutation, 'delete-password')
  const [username, setUsername] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const [remoteResults, addRemoteResults] = useDeletionResults()
  const usernameMismatch = username.trim().toLowerCase() !== user.username.toLowerCase()
  const spaces = listOwnedSpaces(mutation.error)

  const submit = async () => {
    setSubmitted(true)
    if (!ownPassword.submit() || usernameMismatch) return
    await mutation.run(async () => {
      const outcome = await client.deleteAccount({ username: user.username, password: ownPassword.password })
      if (outcome.deleted) return setDeletionReport(outcome.remotes)
      addRemoteResults(outcome.remotes)
      throw outcome.error
    })
  }
  return (
    <Dialog
      title={t('Delete this account')}
      submit={t('Delete permanently')}
      dangerous
      mutation={spaces.length > 0 ? { ...mutation, error: null } : ownPassword.mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>
        <Phrase
          text="This deletes your profile, messages and friendships, here and on connected instances. The username {name} becomes available to others."
          values={{ name: <strong>{user.username}</strong> }}
        />
      </p>
      <p>
        <Button size="small" onClick={onExport}>
          {t('Download your data first')}
        </Button>
      </p>
      {user.isAdmin && <LastAdminNotice />}
      <NotConnectedNotice />
      <OwnedSpaces spaces={spaces} />
      {remoteResults && <DeletionResults results={remoteResults} />}
      <Field
        label={t('Your username')}
        name="delete-username"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={username}
        onChange={(event) => setUsername(event.target.value)}
        error={submitted && usernameMismatch ? t('Type {username} to confirm.', { username: user.username }) : null}
        hint={t('Type {username} to confirm.', { username: user.username })}
      />
      {ownPassword.field}
    </Dialog>
  )
}

/** Instances that keep their identity of the user, as this page cannot delete it there. */
function NotConnectedNotice() {
  const client = useClient()
  const hosts = useStore(client.connections).flatMap(({ origin, token }) => (token === null ? [hostOf(origin)] : []))
  if (hosts.length === 0) return null
  return (
    <Notice tone="warning">
      <p>
        <Phrase
          text="Not connected: {hosts}. Your identity there is not deleted with this account. Connect first, or close this and use “Choose instances”, which deletes it through this instance."
          values={{ hosts: <strong>{hosts.join(', ')}</strong> }}
        />
      </p>
    </Notice>
  )
}

/** Nobody else can make an admin then, but the operator. */
function LastAdminNotice() {
  const client = useClient()
  const query = useQuery('admins', (signal) =>
    client.call('listUsers', { query: { role: 'admin', pageSize: 1 }, signal }),
  )
  if (query.data?.total !== 1) return null
  return (
    <Notice tone="warning">
      {t(
        'You are the last admin of this instance. Without you, nobody can change its settings, invites and peers. Make another user an admin first.',
      )}
    </Notice>
  )
}
