import { listOwnedSpaces, type User } from '@gatehouse/client'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useAnnounce } from '../../parts/announcer.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { OwnedSpaces } from '../../parts/owned-spaces.tsx'

type Props = { user: User; onClose: () => void; onChanged: () => void }

export function DeleteUserDialog({ user, onClose, onChanged }: Props) {
  const act = useAct()
  const announce = useAnnounce()
  const spaces = listOwnedSpaces(act.error)
  const confirm = async () => {
    if (!(await act.run(() => client.api.admin.deleteUser(user.id)))) return
    announce(`${user.username} was deleted.`)
    onClose()
    onChanged()
  }
  return (
    <ConfirmDialog
      title={`Delete ${user.username}`}
      verb="Delete for good"
      act={spaces.length > 0 ? { ...act, error: null } : act}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>Their profile, messages and friendships are removed, and the name becomes free. There is no way back.</p>
      <OwnedSpaces spaces={spaces} whose="They own" />
    </ConfirmDialog>
  )
}
