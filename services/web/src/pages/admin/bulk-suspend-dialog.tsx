import { ApiError, isAborted, NetworkFailure, RateLimited, type User } from '@gatehouse/client'
import { useState } from 'react'
import { UserName } from '../../components/avatar.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { formatError, MutationButton } from '../../components/error-message.tsx'
import { useText } from '../../components/field.tsx'
import { formatNumber } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { useMutation, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { ReasonField } from './user-menu.tsx'

/** `isUnknown`: its answer was lost. */
type Left = { user: User; reason: string; isUnknown?: boolean }
type Outcome = { changed: User[]; left: Left[] }

const callsAtOnce = 4
/** So many in a row tell that the instance has no answer for the others. */
const mostBusy = 2 * callsAtOnce

/**
 * Each account alone: those that are refused stand in no other's way. What one act keeps another one waiting for too long comes again,
 * alone. Where the instance does not answer, or is busy then too, the rest is left.
 */
async function actOnEach(users: readonly User[], act: (user: User) => Promise<unknown>): Promise<Outcome> {
  const outcome: Outcome = { changed: [], left: [] }
  const again: User[] = []
  let failure: Error | undefined
  let busyInARow = 0
  const leave = (user: User, error: Error, isUnknown = false) =>
    void outcome.left.push({ user, reason: formatError(error), isUnknown })
  const work = async (waiting: Iterable<User>, isLast: boolean) => {
    for (const user of waiting) {
      if (failure) {
        leave(user, failure)
        continue
      }
      try {
        await act(user)
        outcome.changed.push(user)
        busyInARow = 0
      } catch (error) {
        if (!(error instanceof Error) || isAborted(error)) throw error
        const isBusy = error instanceof ApiError && error.status === 503
        busyInARow = isBusy ? busyInARow + 1 : 0
        if (isBusy && !isLast && busyInARow < mostBusy) {
          again.push(user)
          continue
        }
        leave(user, error, error instanceof NetworkFailure)
        if (isBusy || !(error instanceof ApiError) || error instanceof RateLimited) failure = error
      }
    }
  }
  const waiting = users.values()
  await Promise.all(Array.from({ length: callsAtOnce }, () => work(waiting, false)))
  await work(again, true)
  if (failure && outcome.changed.length === 0) throw failure
  return outcome
}

type Props = { title: string; listUsers: Work<User[]>; onClose: () => void; onDone: () => void }

/** Tells what was done, and takes it back for the same accounts. Contract: 5, suspend. */
export function BulkSuspendDialog({ title, listUsers, onClose, onDone }: Props) {
  const undoing = useMutation()
  const reason = useText()
  const [undone, setUndone] = useState<Outcome | null>(null)
  const suspend: Work<Outcome> = async (signal, client) => {
    const users = await listUsers(signal, client)
    const isSuspended = ({ suspendedAt }: User) => suspendedAt != null
    const before = users.filter(isSuspended).map((user) => ({ user, reason: t('Already suspended') }))
    const active = users.filter((user) => !isSuspended(user))
    const { changed, left } = await actOnEach(active, ({ id }) =>
      client.call('suspendUser', { params: { id }, body: { reason: reason.value }, signal }),
    )
    return { changed, left: [...before, ...left] }
  }
  const undo = (users: User[]) =>
    undoing.run(async (signal, client) => {
      setUndone(await actOnEach(users, ({ id }) => client.call('unsuspendUser', { params: { id }, signal })))
      onDone()
    })
  const show = (suspended: Outcome) => {
    const { changed, left } = undone ?? suspended
    const usersOf = (some: Left[]) => some.map(({ user }) => user)
    const undoable = undone ? usersOf(left) : [...changed, ...usersOf(left.filter(({ isUnknown }) => isUnknown))]
    return (
      <Dialog
        dialog="BulkSuspendOutcome"
        title={title}
        mutation={undoing}
        changed={false}
        onClose={onClose}
        actions={
          undoable.length > 0 && <MutationButton mutation={undoing} text="Undo" onClick={() => void undo(undoable)} />
        }
      >
        <Notice
          tone={changed.length > 0 ? 'good' : 'warning'}
          text={undone ? 'Unsuspended: {count}' : 'Suspended: {count}'}
          values={{ count: formatNumber(changed.length) }}
        />
        <LeftList left={left} />
      </Dialog>
    )
  }
  return (
    <ConfirmDialog
      dialog="BulkSuspendDialog"
      title={title}
      text="This logs them out everywhere and blocks their logins until you unsuspend them. Peers where they have accounts are notified and do the same. Nothing is deleted."
      submit={t('Suspend')}
      dangerous
      act={suspend}
      onDone={onDone}
      next={show}
      onClose={onClose}
    >
      <ReasonField {...reason} />
    </ConfirmDialog>
  )
}

function LeftList({ left }: Pick<Outcome, 'left'>) {
  return (
    <ul className="list">
      {left.map(({ user, reason: why }) => (
        <li key={user.id} className="split-row">
          <UserName strong>{user.username}</UserName>
          <span className="small muted">{why}</span>
        </li>
      ))}
    </ul>
  )
}
