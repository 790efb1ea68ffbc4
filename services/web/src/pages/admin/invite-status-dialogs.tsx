import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useAppContext, useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { InviteLimitFields, useInviteLimits, weekMs } from './invite-dialog.tsx'
import { t } from '../../language/language.ts'

type Props = { invite: Invite; onClose: () => void; onChanged: () => void }

export function RevokeDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  return (
    <ConfirmDialog
      title={t('Revoke {name}', { name: invite.name })}
      submit={t('Revoke')}
      done={t('{name} was revoked.', { name: invite.name })}
      act={() => client.call('revokeInvite', { params: { id: invite.id } })}
      onDone={onChanged}
      onClose={onClose}
    >
      <p>{t('The link stops working at once. If you reinstate the invite later, it gets a new link.')}</p>
    </ConfirmDialog>
  )
}

export function DeleteInviteDialog({ invite, onClose, onChanged }: Props) {
  const client = useClient()
  return (
    <ConfirmDialog
      title={t('Delete {name}', { name: invite.name })}
      submit={t('Delete')}
      done={t('{name} was deleted.', { name: invite.name })}
      act={() => client.call('deleteInvite', { params: { id: invite.id } })}
      onDone={onChanged}
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
  const submit = async () => {
    setSubmitted(true)
    if (limits.problem) return
    const done = await mutation.run(async () => {
      const { tokenRotated } = await client.call('reinstateInvite', { params: { id: invite.id }, body: limits.values })
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
    <Dialog
      title={t('Reinstate {name}', { name: invite.name })}
      submit={t('Reinstate')}
      mutation={mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>
        {invite.status === 'revoked'
          ? t('The invite gets a new link. The old link stays invalid.')
          : t('The link stays the same.')}
      </p>
      <InviteLimitFields limits={limits} submitted={submitted} />
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
