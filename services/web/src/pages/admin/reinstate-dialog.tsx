import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { changedFields } from '../../components/changed-fields.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { type InviteLimits, useInviteLimits, weekMs } from '../../components/invite-dialog.tsx'
import { useAppContext } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import type { RowDialogProps } from './row-dialog.tsx'

/** A revoked invite gets a new link. Spec: Invite status. */
export function ReinstateDialog({ row: invite, name, ...props }: RowDialogProps<Invite>) {
  const { client, now } = useAppContext()
  const [initial] = useState(() => extendLimits(invite, now()))
  const { fields, values } = useInviteLimits(initial)
  return (
    <ConfirmDialog
      dialog="ReinstateDialog"
      title={t('Reinstate {name}', { name })}
      text={
        invite.status === 'revoked'
          ? 'The invite gets a new link. The old link won’t work again.'
          : 'The link stays the same.'
      }
      submit={t('Reinstate')}
      act={() => client.call('reinstateInvite', { params: { id: invite.id }, body: changedFields(invite, values) })}
      done={({ tokenRotated }) =>
        t(tokenRotated ? '{name} is active again, with a new link.' : '{name} is active again.', { name })
      }
      {...props}
    >
      {fields}
    </ConfirmDialog>
  )
}

/** Extends a limit that has been reached: by one use, by one week. */
function extendLimits({ maxUses, usedCount, expiresAt }: Invite, now: number): InviteLimits {
  const exhausted = maxUses !== null && usedCount >= maxUses
  const expired = expiresAt !== null && expiresAt <= now
  return { maxUses: exhausted ? usedCount + 1 : maxUses, expiresAt: expired ? now + weekMs : expiresAt }
}
