import type { Invite } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { changedFields } from '../../components/changed-fields.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Field, useText } from '../../components/field.tsx'
import { fromDateTimeInput, toDateTimeInput } from '../../components/format.ts'
import { useAppContext } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import type { RowDialogProps } from './row-dialog.tsx'

type Props = RowDialogProps<Invite>

const weekMs = 7 * 86_400_000

type Limits = Pick<Invite, 'maxUses' | 'expiresAt'>

/** Empty means no limit. */
function useInviteLimits(initial: Limits) {
  const [shown] = useState({
    maxUses: String(initial.maxUses ?? ''),
    expiresAt: initial.expiresAt === null ? '' : toDateTimeInput(initial.expiresAt),
  })
  const uses = useText(shown.maxUses)
  const expiry = useText(shown.expiresAt)
  const typed = uses.value.trim()
  const problem = typed !== '' && !/^[1-9]\d{0,8}$/.test(typed) ? t('Enter a whole number of 1 or more.') : null
  const fields = (
    <>
      <Field
        label={t('Maximum uses')}
        name="max-uses"
        optional
        inputMode="numeric"
        {...uses}
        problem={problem}
        hint={t('Leave empty for no limit.')}
      />
      <Field
        label={t('Expires')}
        name="expires-at"
        optional
        type="datetime-local"
        {...expiry}
        hint={t('Leave empty to never expire.')}
      />
    </>
  )
  const values: Limits = {
    maxUses: typed === '' ? null : Number(typed),
    // The field shows no seconds: what was not edited keeps them.
    expiresAt: expiry.value === shown.expiresAt ? initial.expiresAt : fromDateTimeInput(expiry.value),
  }
  return { fields, values }
}

/** Null: a new one. An edit sends what was changed, so that it takes nothing else back. */
export function InviteDialog({ row: invite, ...props }: Pick<Props, 'onClose' | 'onDone'> & { row: Invite | null }) {
  const { client, now } = useAppContext()
  const [initial] = useState(invite ?? { name: '', maxUses: 1, expiresAt: now() + weekMs })
  const name = useText(initial.name)
  const { fields, values } = useInviteLimits(initial)
  const body = { name: name.value.trim(), ...values }
  return (
    <ConfirmDialog
      dialog="InviteDialog"
      title={invite ? t('Edit {name}', { name: invite.name }) : t('New invite')}
      submit={invite ? t('Save') : t('Create invite')}
      act={() =>
        invite
          ? client.call('patchInvite', { params: { id: invite.id }, body: changedFields(initial, body) })
          : client.call('createInvite', { body })
      }
      done={invite ? t('Invite saved.') : t('Invite created.')}
      {...props}
    >
      <Field
        label={t('Name')}
        name="invite-name"
        maxLength={limits.inviteNameMax}
        {...name}
        problem={body.name ? null : t('Enter a name.')}
        hint={t('People see this name when they register.')}
      />
      {fields}
    </ConfirmDialog>
  )
}

/** A revoked invite gets a new link. Spec: Invite status. */
export function ReinstateDialog({ row: invite, name, ...props }: Props) {
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
function extendLimits({ maxUses, usedCount, expiresAt }: Invite, now: number): Limits {
  const exhausted = maxUses !== null && usedCount >= maxUses
  const expired = expiresAt !== null && expiresAt <= now
  return { maxUses: exhausted ? usedCount + 1 : maxUses, expiresAt: expired ? now + weekMs : expiresAt }
}
