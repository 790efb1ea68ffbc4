import { exportData } from '@gatehouse/client/export'
import { listOwnedSpaces } from '@gatehouse/client'
import type { DeletionMode, Endpoints, IdentityDeletions, RemoteInstance, User } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { DeletionResults, OwnedSpaces, useDeletionResults } from '../../components/deletion-results.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { Checkbox, Field, RadioGroup } from '../../components/field.tsx'
import { formatBytes, hostOf, saveFile } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { useClient, useDeletionReport, useMutation, useQuery, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { usePassword } from './use-password.tsx'

type Props = { user: User; onClose: () => void }

const useOwnPassword = (user: User, name: string) => usePassword({ name, isNeeded: user.homeInstance === null })

/** Contract: 3, sessions/end. */
export function EndSessionsDialog({ user, onClose }: Props) {
  const client = useClient()
  const { field, value, check, mutation } = useOwnPassword(user, 'end-sessions-password')
  return (
    <ConfirmDialog
      title={t('Log out everywhere')}
      submit={t('Log out everywhere')}
      dangerous
      mutation={mutation}
      check={check}
      // Not aborted on unmount: the response holds the new token of this session.
      act={() => client.endSessions(value)}
      done={t('You are logged out everywhere else.')}
      onClose={onClose}
    >
      <p>{t('This ends every session of your account but this one, at once. Your password stays the same.')}</p>
      {field}
    </ConfirmDialog>
  )
}

/** Contract: 3, export. */
export function ExportDialog({ user, onClose }: Props) {
  const client = useClient()
  const { field, value, check, mutation } = useOwnPassword(user, 'export-password')
  const [received, setReceived] = useState(0)
  const download = async (signal: AbortSignal) => {
    setReceived(0)
    const archive = await exportData(client, { password: value }, { signal, onProgress: setReceived })
    saveFile(archive, `${user.username}.zip`)
  }
  return (
    <ConfirmDialog
      title={t('Download your data')}
      submit={t('Download')}
      mutation={mutation}
      interruptible
      check={check}
      act={download}
      done={t('Your data was downloaded.')}
      onClose={onClose}
    >
      <p>
        {t(
          'One archive with your profile, uploads, invites, friends, spaces and the messages that you wrote. You can download it twice a day.',
        )}
      </p>
      {field}
      {mutation.busy && (
        <div role="status" className="progress">
          <progress aria-label={t('Download')} />
          <span className="small muted tabular">{t('{number} received', { number: formatBytes(received) })}</span>
        </div>
      )}
    </ConfirmDialog>
  )
}

/** Lists the owned spaces that prevent the deletion. */
export function DeleteAccountDialog({ user, onClose, onExport }: Props & { onExport: () => void }) {
  const client = useClient()
  const [, setDeletionReport] = useDeletionReport()
  const [, navigate] = useLocation()
  const { field, value, check, mutation, isSubmitted } = useOwnPassword(user, 'delete-password')
  const [username, setUsername] = useState('')
  const [remoteResults, addRemoteResults] = useDeletionResults()
  const usernameMismatch = username.trim().toLowerCase() !== user.username.toLowerCase()
  const spaces = listOwnedSpaces(mutation.error)
  const instruction = t('Type {username} to confirm.', { username: user.username })

  const submit = async () => {
    if (!check() || usernameMismatch) return
    await mutation.run(async () => {
      const outcome = await client.deleteAccount({ username: user.username, password: value })
      if (outcome.deleted) {
        setDeletionReport(outcome.remotes)
        return navigate(routes.login, { replace: true }) // nobody comes back to this page
      }
      addRemoteResults(outcome.remotes)
      throw outcome.error
    })
  }
  return (
    <Dialog
      title={t('Delete this account')}
      submit={t('Delete permanently')}
      dangerous
      mutation={spaces.length > 0 ? { ...mutation, error: null } : mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>
        <Phrase
          text="This deletes your profile, messages and friendships, here and on connected instances. The username {name} becomes available to others."
          values={{
            name: (
              <strong>
                <UserName>{user.username}</UserName>
              </strong>
            ),
          }}
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
        verbatim
        label={t('Your username')}
        name="delete-username"
        value={username}
        onText={setUsername}
        error={isSubmitted && usernameMismatch ? instruction : null}
        hint={instruction}
      />
      {field}
    </Dialog>
  )
}

/** This page cannot delete the identities there. */
function NotConnectedNotice() {
  const remotes = useStore(useClient().connections)
  const hosts = remotes.filter(({ token }) => token === null).map(({ origin }) => hostOf(origin))
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

const modes = [
  ['soft', 'Keep my messages', 'Others can still read them. They are shown as written by a deleted user.'],
  ['full', 'Delete my messages too', 'Your messages on these instances are deleted as well.'],
] as const

type Order = Endpoints['listDeletionOrders']['reply']['orders'][number]

/** Results of orders that waited and have ended since. */
function settledOf(results: IdentityDeletions | null, orders: readonly Order[]): IdentityDeletions {
  const ended = orders.filter(({ origin, state }) => {
    const result = results?.[origin]
    return result?.success === false && result.order && state !== 'waiting'
  })
  return Object.fromEntries(
    ended.map(({ origin, state, error }) => [
      origin,
      state === 'done' ? { success: true } : { success: false, error: error ?? 'unreachable' },
    ]),
  )
}

type DeleteIdentitiesProps = { remotes: readonly RemoteInstance[]; onClose: () => void }

/** Contract: 7, fan-out. */
export function DeleteIdentitiesDialog({ remotes, onClose }: DeleteIdentitiesProps) {
  const client = useClient()
  const mutation = useMutation()
  const [selected, setSelected] = useState<readonly string[]>([])
  const [mode, setMode] = useState<DeletionMode>('soft')
  const [results, addResults] = useDeletionResults()
  const origins = remotes.map((remote) => remote.origin).filter((origin) => selected.includes(origin))
  const toggle = (origin: string, isSelected: boolean) =>
    setSelected([...selected.filter((one) => one !== origin), ...(isSelected ? [origin] : [])])
  const submit = () => {
    if (origins.length === 0) return
    return mutation.run(async (signal) =>
      addResults(await client.deleteFederationIdentities({ origins, mode, durable: true }, { signal })),
    )
  }
  const orders = useQuery('orders', (signal) => client.call('listDeletionOrders', { signal }))
  const isWaiting = Object.values(results ?? {}).some((result) => !result.success && result.order)
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(orders.refetch, 3_000)
    return () => clearInterval(timer)
  }, [isWaiting])
  useEffect(() => addResults(settledOf(results, orders.data?.orders ?? [])), [orders.data])
  return (
    <Dialog
      title={t('Delete identities on other instances')}
      submit={t('Delete identities')}
      submitDisabled={origins.length === 0}
      dangerous
      closeLabel={results ? t('Done') : t('Cancel')}
      mutation={mutation}
      changed={results ? false : undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <fieldset className="stack stack--tight">
        <legend className="field__label">{t('Delete my identity on')}</legend>
        {remotes.map(({ origin }) => (
          <Checkbox
            key={origin}
            label={hostOf(origin)}
            name="delete-identity"
            id={`delete-identity-${hostOf(origin)}`}
            checked={selected.includes(origin)}
            onChange={(isSelected) => toggle(origin, isSelected)}
          />
        ))}
        {remotes.length === 0 && <p className="muted">{t('No connected instances.')}</p>}
      </fieldset>
      <RadioGroup legend={t('My messages')} name="deletion-mode" value={mode} options={modes} onPick={setMode} />
      <div role="status">{results && <DeletionResults results={results} />}</div>
    </Dialog>
  )
}
