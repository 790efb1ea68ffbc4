import type { User } from '@gatehouse/client'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useAnnounce } from '../../parts/announcer.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'

type Props = { user: User; isSelf: boolean; onClose: () => void; onChanged: () => void }

export function RoleDialog({ user, isSelf, onClose, onChanged }: Props) {
  const act = useAct()
  const announce = useAnnounce()
  const rises = !user.isAdmin
  const confirm = async () => {
    const done = await act.run(() => client.api.admin.setRole(user.id, rises))
    if (!done) return
    announce(rises ? `${user.username} is an admin now.` : `${user.username} is no longer an admin.`)
    onClose()
    const self = client.session.getSnapshot().user
    if (isSelf && self) client.session.setUser({ ...self, isAdmin: rises })
    else onChanged()
  }
  return (
    <ConfirmDialog
      title={rises ? `Make ${user.username} an admin` : `Remove ${user.username} as admin`}
      verb={rises ? 'Make admin' : 'Remove admin'}
      dangerous={!rises}
      act={act}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {rises
          ? 'Admins can see every account, reset passwords, delete accounts, and open or close the gates.'
          : isSelf
            ? 'You will no longer be able to open this page. The last admin cannot step down.'
            : 'They keep their account, without the administration.'}
      </p>
    </ConfirmDialog>
  )
}
