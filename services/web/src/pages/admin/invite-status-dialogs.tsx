import type { Invite } from '@gatehouse/client'
import { type SubmitEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../components/dialog.tsx'
import { submitLabel } from '../../components/error-message.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useAppContext, useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { InviteLimitFields, useInviteLimits, weekMs } from './invite-dialog.tsx'
import { t } from '../../language/language.ts'

type Props = { invite: Invite; onClose: () => void; onChanged: () => void }

export function RevokeDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const confirm = async () => {
    if (!(await mutation.run(() => client.api.invites.revoke(invite.id)))) return
    showToast(t('{name} was revoked.', { name: invite.name }))
    onClose()
    onChanged()
  }
  return (
    <ConfirmDialog
      title={t('Revoke {name}', { name: invite.name })}
      confirmLabel={t('Revoke')}
      mutation={mutation}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('The link stops working at once. If you reinstate the invite later, it gets a new link.')}</p>
    </ConfirmDialog>
  )
}

export function DeleteInviteDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const confirm = async () => {
    if (!(await mutation.run(() => client.api.invites.remove(invite.id)))) return
    showToast(t('{name} was deleted.', { name: invite.name }))
    onClose()
    onChanged()
  }
  return (
    <ConfirmDialog
      title={t('Delete {name}', { name: invite.name })}
      confirmLabel={t('Delete')}
      mutation={mutation}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('The link stops working, and the list of who used it is deleted. The accounts are kept.')}</p>
    </ConfirmDialog>
  )
}

/** Makes an invite active again, with limits that allow it. A revoked one gets a new link. Spec: Invite status. */
export function ReinstateDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  const mutation = useMutation()
  const { now } = useAppContext()
  const showToast = useToast()
  const [submitted, setSubmitted] = useState(false)
  const [initialLimits] = useState(() => extendLimits(invite, now()))
  const limits = useInviteLimits(initialLimits)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (limits.problem) return
    const done = await mutation.run(async () => {
      const { tokenRotated } = await client.api.invites.reinstate(invite.id, limits.values)
      showToast(
        tokenRotated
          ? t('{name} is active again, with a new link.', { name: invite.name })
          : t('{name} is active again.', { name: invite.name }),
      )
    })
    if (!done) return
    onClose()
    onChanged()
  }
  return (
    <Dialog title={t('Reinstate {name}', { name: invite.name })} onClose={onClose} locked={mutation.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p>
          {invite.status === 'revoked'
            ? t('The invite gets a new link. The old link stays invalid.')
            : t('The link stays the same.')}
        </p>
        <InviteLimitFields limits={limits} submitted={submitted} />
        <DialogActions mutation={mutation}>
          <Button onClick={onClose} disabled={mutation.busy}>
            {t('Cancel')}
          </Button>
          <Button type="submit" variant="primary" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
            {submitLabel(mutation, t('Reinstate'))}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

/** The limits of the invite, extended only where an active invite needs it: by one use, by one week. */
function extendLimits(invite: Invite, now: number): Pick<Invite, 'maxUses' | 'expiresAt'> {
  const exhausted = invite.maxUses !== null && invite.usedCount >= invite.maxUses
  const expired = invite.expiresAt !== null && invite.expiresAt <= now
  return {
    maxUses: exhausted ? invite.usedCount + 1 : invite.maxUses,
    expiresAt: expired ? now + weekMs : invite.expiresAt,
  }
}
