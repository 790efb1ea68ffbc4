import { listOwnedSpaces } from '@gatehouse/client'
import type { DeletionMode, Endpoints, IdentityDeletions, RemoteInstance, User } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { use, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { ActionRow, Card } from '../../components/card.tsx'
import { DeletionResults, OwnedSpaces, useDeletionResults } from '../../components/deletion-results.tsx'
import { ConfirmDialog, Dialog, DialogButton } from '../../components/dialog.tsx'
import { Checkbox, RadioGroup } from '../../components/choices.tsx'
import { Field } from '../../components/field.tsx'
import { hostOf } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { DeletionReportContext, useClient, useMutation, useQuery, useStore, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { useTripState, useTripText } from '../../provider-trips.ts'
import { ExportDialog } from './data-section.tsx'
import { useOwnPassword } from './use-password.tsx'

export function LeaveSection({ user }: { user: User }) {
  const remotes = useStore(useClient().connections)
  const [open, setOpen] = useTripState<'account' | 'export' | null>('leave', null)
  const close = () => setOpen(null)
  return (
    <Card title={t('Delete account')}>
      <div className="list">
        {!user.homeInstance && (
          <ActionRow
            title={t('Delete your accounts on other instances')}
            text={t('Deletes your accounts on the instances you choose. Your account here stays.')}
          >
            <DialogButton
              variant="danger"
              size="small"
              aria-disabled={remotes.length === 0}
              text="Choose instances…"
              dialog={(onClose) => <DeleteIdentitiesDialog remotes={remotes} onClose={onClose} />}
            />
          </ActionRow>
        )}
        <ActionRow
          title={t('Delete your account')}
          text={t('Deletes your account here and on connected instances. This can’t be undone.')}
        >
          <Button variant="danger" size="small" text="Delete account" onClick={() => setOpen('account')} />
        </ActionRow>
      </div>
      {open === 'account' && <DeleteAccountDialog user={user} onClose={close} onExport={() => setOpen('export')} />}
      {open === 'export' && <ExportDialog user={user} onClose={close} />}
    </Card>
  )
}

function DeleteAccountDialog({ user, onClose, onExport }: { user: User; onClose: () => void; onExport: () => void }) {
  const [, setDeletionReport] = use(DeletionReportContext)
  const [, navigate] = useLocation()
  const password = useOwnPassword('delete-password')
  const username = useTripText('deleted username')
  const [remoteResults, addRemoteResults] = useDeletionResults()
  const usernameMismatch = username.value.trim().toLowerCase() !== user.username.toLowerCase()
  const spaces = listOwnedSpaces(password.mutation.error)
  const instruction = t('Type {username} to confirm.', { username: user.username })

  const deleteAccount: Work<void> = async (_, client) => {
    const outcome = await client.deleteAccount({ username: user.username, ...password.proof })
    if (outcome.deleted) {
      setDeletionReport(outcome.remotes)
      return navigate(routes.login, { replace: true }) // nobody comes back to this page
    }
    addRemoteResults(outcome.remotes)
    throw outcome.error
  }
  return (
    <ConfirmDialog
      dialog="DeleteAccountDialog"
      title={t('Delete your account')}
      submit={t('Delete permanently')}
      dangerous
      confirmation={password}
      mutation={spaces.length > 0 ? { ...password.mutation, error: null } : password.mutation}
      act={deleteAccount}
      onClose={onClose}
    >
      <p>
        <Phrase
          text="This deletes your profile, messages and friendships, here and on connected instances. Other people will be able to use the name {name}."
          values={{ name: <UserName strong>{user.username}</UserName> }}
        />
      </p>
      <p>
        <Button size="small" text="Download your data first" onClick={onExport} />
      </p>
      {user.isAdmin && <LastAdminNotice />}
      <NotConnectedNotice />
      <OwnedSpaces
        spaces={spaces}
        text="Your account wasn’t deleted, because you own spaces. Transfer or delete them first:"
      />
      {remoteResults && <DeletionResults results={remoteResults} />}
      <Field
        verbatim
        label={t('Your username')}
        name="delete-username"
        {...username}
        problem={usernameMismatch ? instruction : null}
        hint={instruction}
      />
    </ConfirmDialog>
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
          text="You’re not connected to {hosts} right now, so your accounts there won’t be deleted. To delete them too, connect first. Or close this dialog and use “Choose instances…”."
          values={{ hosts: <strong>{hosts.join(', ')}</strong> }}
        />
      </p>
    </Notice>
  )
}

/** Nobody else can make an admin then, but the operator. */
function LastAdminNotice() {
  const query = useQuery('admins', (signal, client) =>
    client.call('listUsers', { query: { role: 'admin', pageSize: 100 }, signal }),
  )
  if (query.data?.users.filter(({ suspendedAt }) => suspendedAt == null).length !== 1) return null
  return (
    <Notice
      tone="warning"
      text="You’re the last admin of this instance. Without you, no one can manage its settings, invites and peers. Make someone else an admin first."
    />
  )
}

const modes = [
  ['soft', 'Keep my messages', 'People can still read them. The author is shown as a deleted user.'],
  ['full', 'Delete my messages too', 'Your messages on these instances are deleted, too.'],
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

/** The results follow waiting orders until each has ended or the dialog is closed. Contract: 7, fan-out. */
function DeleteIdentitiesDialog({ remotes, onClose }: { remotes: readonly RemoteInstance[]; onClose: () => void }) {
  const mutation = useMutation()
  const [selected, setSelected] = useState<Readonly<Record<string, boolean>>>({})
  const [mode, setMode] = useState<DeletionMode>('soft')
  const [results, addResults] = useDeletionResults()
  const origins = remotes.map((remote) => remote.origin).filter((origin) => selected[origin])
  const submit = () =>
    mutation.run(async (signal, client) =>
      addResults(await client.deleteFederationIdentities({ origins, mode, durable: true }, { signal })),
    )
  const orders = useQuery('orders', (signal, client) => client.call('listDeletionOrders', { signal }))
  const isWaiting = Object.values(results ?? {}).some((result) => !result.success && result.order)
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(orders.refetch, 3_000)
    return () => clearInterval(timer)
  }, [isWaiting])
  useEffect(() => addResults(settledOf(results, orders.data?.orders ?? [])), [orders.data])
  return (
    <Dialog
      dialog="DeleteIdentitiesDialog"
      title={t('Delete your accounts on other instances')}
      submit={t('Delete accounts')}
      submitDisabled={origins.length === 0}
      dangerous
      closeLabel={results ? t('Done') : t('Cancel')}
      mutation={mutation}
      changed={results ? false : undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <fieldset className="stack stack--tight">
        <legend className="field__label">{t('Delete my account on')}</legend>
        {remotes.map(({ origin }) => (
          <Checkbox
            key={origin}
            label={hostOf(origin)}
            name="delete-identity"
            id={`delete-identity-${hostOf(origin)}`}
            checked={selected[origin] === true}
            onChange={(isSelected) => setSelected((before) => ({ ...before, [origin]: isSelected }))}
          />
        ))}
        {remotes.length === 0 && <p className="muted">{t('No connected instances.')}</p>}
      </fieldset>
      <RadioGroup legend={t('My messages')} name="deletion-mode" value={mode} options={modes} onPick={setMode} />
      <div role="status">{results && <DeletionResults results={results} />}</div>
    </Dialog>
  )
}
