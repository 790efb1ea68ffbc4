import type { User } from '@gatehouse/client'
import { ApiError } from '@gatehouse/client'
import { useState } from 'react'
import { UserName } from '../../components/avatar.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { SubmitButton } from '../../components/error-message.tsx'
import { formatNumber } from '../../components/format.ts'
import { Notice } from '../../components/status.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t, translateRefusal } from '../../language/language.ts'
import { ReasonField } from './user-dialogs.tsx'

type Outcome = { changed: User[]; left: { user: User; reason: string }[] }
type Act = (user: User, signal: AbortSignal) => Promise<unknown>

const callsAtOnce = 4

/** Each account alone: those that are refused stand in no other's way. */
async function actOnEach(users: readonly User[], act: Act, signal: AbortSignal): Promise<Outcome> {
  const outcome: Outcome = { changed: [], left: [] }
  const waiting = users.values()
  const work = async () => {
    for (const user of waiting) {
      try {
        await act(user, signal)
        outcome.changed.push(user)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        outcome.left.push({ user, reason: translateRefusal(error) })
      }
    }
  }
  await Promise.all(Array.from({ length: callsAtOnce }, work))
  return outcome
}

type Props = {
  title: string
  listUsers: (signal: AbortSignal) => Promise<User[]>
  onClose: () => void
  onChanged: () => void
}

/** Tells what was done, and takes it back for the same accounts. Contract: 5, suspend. */
export function BulkSuspendDialog({ title, listUsers, onClose, onChanged }: Props) {
  const client = useClient()
  const mutation = useMutation()
  const [reason, setReason] = useState('')
  const [done, setDone] = useState<(Outcome & { isUndone: boolean }) | null>(null)
  const suspend: Act = (user, signal) =>
    client.call('suspendUser', { params: { id: user.id }, body: { reason }, signal })
  const unsuspend: Act = (user, signal) => client.call('unsuspendUser', { params: { id: user.id }, signal })
  const run = () =>
    mutation.run(async (signal) => {
      const users = await listUsers(signal)
      const isSuspended = (user: User) => user.suspendedAt != null
      const before = users.filter(isSuspended).map((user) => ({ user, reason: t('Was suspended already') }))
      const { changed, left } = await actOnEach(
        users.filter((user) => !isSuspended(user)),
        suspend,
        signal,
      )
      setDone({ changed, left: [...before, ...left], isUndone: false })
      onChanged()
    })
  const undo = (users: User[]) =>
    mutation.run(async (signal) => {
      setDone({ ...(await actOnEach(users, unsuspend, signal)), isUndone: true })
      onChanged()
    })
  if (!done) {
    return (
      <Dialog title={title} submit={t('Suspend')} dangerous mutation={mutation} onSubmit={run} onClose={onClose}>
        <p>{t('This logs the users out everywhere and refuses their logins until you end it. Nothing is deleted.')}</p>
        <ReasonField value={reason} onText={setReason} />
      </Dialog>
    )
  }
  const { changed, left, isUndone } = done
  const count = formatNumber(changed.length)
  return (
    <Dialog
      title={title}
      mutation={mutation}
      changed={false}
      onClose={onClose}
      actions={
        !isUndone &&
        changed.length > 0 && (
          <SubmitButton mutation={mutation} type="button" variant="outline" onClick={() => void undo(changed)}>
            {t('Undo')}
          </SubmitButton>
        )
      }
    >
      <Notice tone={changed.length > 0 ? 'good' : 'warning'}>
        <p>{isUndone ? t('Unsuspended accounts: {count}', { count }) : t('Suspended accounts: {count}', { count })}</p>
      </Notice>
      <ul className="list">
        {left.map(({ user, reason: why }) => (
          <li key={user.id} className="split-row">
            <strong>
              <UserName>{user.username}</UserName>
            </strong>
            <span className="small muted">{why}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
