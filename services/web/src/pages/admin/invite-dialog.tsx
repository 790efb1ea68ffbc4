import type { Invite } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { fromDateTimeInput, toDateTimeInput } from '../../components/format-time.ts'
import { useToast } from '../../components/toaster.tsx'
import { useAppContext, useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { t } from '../../language/language.ts'

export const weekMs = 7 * 86_400_000

/** Creates an invite, or edits `invite`. */
export function InviteDialog({
  invite,
  onClose,
  onSaved,
}: {
  invite: Invite | null
  onClose: () => void
  onSaved: () => void
}) {
  const client = useClient()
  const mutation = useMutation()
  const { now } = useAppContext()
  const showToast = useToast()
  const [name, setName] = useState(invite?.name ?? '')
  const [submitted, setSubmitted] = useState(false)
  const [initialLimits] = useState(() => invite ?? { maxUses: 1, expiresAt: now() + weekMs })
  const inviteLimits = useInviteLimits(initialLimits)

  const submit = async () => {
    setSubmitted(true)
    if (!name.trim() || inviteLimits.problem) return
    const values = { name: name.trim(), ...inviteLimits.values }
    const done = await mutation.run(() =>
      invite
        ? client.call('patchInvite', { params: { id: invite.id }, body: values })
        : client.call('createInvite', { body: values }),
    )
    if (!done) return
    showToast(invite ? t('Invite saved.') : t('Invite created.'))
    onClose()
    onSaved()
  }
  return (
    <Dialog
      title={invite ? t('Edit {name}', { name: invite.name }) : t('New invite')}
      submit={invite ? t('Save') : t('Create invite')}
      mutation={mutation}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label={t('Name')}
        name="invite-name"
        autoComplete="off"
        maxLength={limits.inviteNameMax}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={submitted && !name.trim() ? t('Enter a name.') : null}
        hint={t('Shown to the people you invite when they register.')}
      />
      <InviteLimitFields limits={inviteLimits} submitted={submitted} />
    </Dialog>
  )
}

type Limits = { maxUses: number | null; expiresAt: number | null }

/** The limits of an invite as typed in the form; empty means no limit. */
export function useInviteLimits(initial: Limits) {
  const [uses, setUses] = useState(initial.maxUses === null ? '' : String(initial.maxUses))
  const [expiry, setExpiry] = useState(initial.expiresAt === null ? '' : toDateTimeInput(initial.expiresAt))
  const problem =
    uses.trim() !== '' && !/^[1-9]\d{0,8}$/.test(uses.trim()) ? t('Enter a whole number, 1 or more.') : null
  return {
    uses,
    setUses,
    expiry,
    setExpiry,
    problem,
    values: {
      maxUses: uses.trim() === '' ? null : Number(uses),
      expiresAt: fromDateTimeInput(expiry),
    } satisfies Limits,
  }
}

export function InviteLimitFields({
  limits,
  submitted,
}: {
  limits: ReturnType<typeof useInviteLimits>
  submitted: boolean
}) {
  return (
    <>
      <Field
        label={t('Uses')}
        name="max-uses"
        optional
        inputMode="numeric"
        autoComplete="off"
        value={limits.uses}
        onChange={(event) => limits.setUses(event.target.value)}
        error={submitted ? limits.problem : null}
        hint={t('Empty: no limit.')}
      />
      <Field
        label={t('Expires')}
        name="expires-at"
        autoComplete="off"
        optional
        type="datetime-local"
        value={limits.expiry}
        onChange={(event) => limits.setExpiry(event.target.value)}
        hint={t('Empty: never.')}
      />
    </>
  )
}
