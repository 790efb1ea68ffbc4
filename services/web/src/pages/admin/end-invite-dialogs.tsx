import type { Invite } from '@gatehouse/client'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useAnnounce } from '../../parts/announcer.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'

type Props = { invite: Invite; onClose: () => void; onChanged: () => void }

export function RevokeDialog({ invite, onClose, onChanged }: Props) {
  const act = useAct()
  const announce = useAnnounce()
  const confirm = async () => {
    if (!(await act.run(() => client.api.invites.revoke(invite.id)))) return
    announce(`${invite.name} was revoked.`)
    onClose()
    onChanged()
  }
  return (
    <ConfirmDialog
      title={`Revoke ${invite.name}`}
      verb="Revoke"
      act={act}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>Its link stops working at once. Reinstating it later gives it a new link.</p>
    </ConfirmDialog>
  )
}

export function DeleteInviteDialog({ invite, onClose, onChanged }: Props) {
  const act = useAct()
  const announce = useAnnounce()
  const confirm = async () => {
    if (!(await act.run(() => client.api.invites.remove(invite.id)))) return
    announce(`${invite.name} was deleted.`)
    onClose()
    onChanged()
  }
  return (
    <ConfirmDialog
      title={`Delete ${invite.name}`}
      verb="Delete"
      act={act}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>The link stops working and the record of who used it is removed. The accounts stay.</p>
    </ConfirmDialog>
  )
}
