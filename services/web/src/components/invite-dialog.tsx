import type { Invite } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { useAppContext } from '../hooks.ts'
import { t } from '../language/language.ts'
import { changedFields } from './changed-fields.ts'
import { ConfirmDialog } from './dialog.tsx'
import { Field, useText } from './field.tsx'
import { fromDateTimeInput, toDateTimeInput } from './format.ts'

const dayMs = 86_400_000
export const weekMs = 7 * dayMs

export type InviteLimits = Pick<Invite, 'maxUses' | 'expiresAt'>

/** Empty means no limit. Those of a member have bounds: `isOwn`. */
export function useInviteLimits(initial: InviteLimits, isOwn = false) {
  const { now } = useAppContext()
  const [shown] = useState({
    maxUses: String(initial.maxUses ?? ''),
    expiresAt: initial.expiresAt === null ? '' : toDateTimeInput(initial.expiresAt),
  })
  const uses = useText(shown.maxUses)
  const expiry = useText(shown.expiresAt)
  const typed = uses.value.trim()
  const values: InviteLimits = {
    maxUses: typed === '' ? null : Number(typed),
    // The field shows no seconds: what was not edited keeps them.
    expiresAt: expiry.value === shown.expiresAt ? initial.expiresAt : fromDateTimeInput(expiry.value),
  }
  const hints = isOwn
    ? describeBounds()
    : { uses: t('Leave empty for no limit.'), expiry: t('Leave empty to never expire.') }
  const fields = (
    <>
      <Field
        label={t('Maximum uses')}
        name="max-uses"
        optional={!isOwn}
        inputMode="numeric"
        {...uses}
        problem={isOwn ? findProblemOfOwn(typed) : findProblem(typed)}
        hint={hints.uses}
      />
      <Field
        label={t('Expires')}
        name="expires-at"
        optional={!isOwn}
        type="datetime-local"
        {...expiry}
        problem={isOwn && isBeyondBounds(values.expiresAt, now()) ? hints.expiry : null}
        hint={hints.expiry}
      />
    </>
  )
  return { fields, values }
}

const isCount = (typed: string) => /^[1-9]\d{0,8}$/.test(typed)

const findProblem = (typed: string) => (typed === '' || isCount(typed) ? null : t('Enter a whole number of 1 or more.'))

// Taken apart, all of the limits would be in the first load.
const usesMax = limits.memberInviteUsesMax
const lifetimeMax = limits.memberInviteLifeMs

const describeBounds = () => ({
  uses: t('Between 1 and {max}.', { max: usesMax }),
  expiry: t('Within the next {days} days.', { days: lifetimeMax / dayMs }),
})

const findProblemOfOwn = (typed: string) =>
  isCount(typed) && Number(typed) <= usesMax ? null : t('Enter a whole number between 1 and {max}.', { max: usesMax })

const isBeyondBounds = (at: number | null, now: number) => at === null || at > now + lifetimeMax

type Props = {
  /** Null: a new one. An edit sends what was changed, so that it takes nothing else back. */
  row: Invite | null
  /** Of a member. Contract: 4, Invites of members. */
  isOwn?: boolean
  onClose: () => void
  onDone: () => void
}

export function InviteDialog({ row: invite, isOwn = false, onClose, onDone }: Props) {
  const { client, now } = useAppContext()
  const [initial] = useState(invite ?? { name: '', maxUses: 1, expiresAt: now() + weekMs })
  const name = useText(initial.name)
  const { fields, values } = useInviteLimits(initial, isOwn)
  const body = { name: name.value.trim(), ...values }
  const save = () => {
    if (isOwn) return client.call('createOwnInvite', { body })
    if (!invite) return client.call('createInvite', { body })
    return client.call('patchInvite', { params: { id: invite.id }, body: changedFields(initial, body) })
  }
  return (
    <ConfirmDialog
      dialog="InviteDialog"
      title={invite ? t('Edit {name}', { name: invite.name }) : t('New invite')}
      submit={invite ? t('Save') : t('Create invite')}
      act={save}
      done={invite ? t('Invite saved.') : t('Invite created.')}
      onClose={onClose}
      onDone={onDone}
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
