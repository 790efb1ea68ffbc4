import type { Invite } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { InviteLimitFields, useInviteLimits } from './invite-limits.tsx'

const week = 7 * 86_400_000

/** Makes an invite, or changes one. */
export function InviteDialog({
  invite,
  onClose,
  onSaved,
}: {
  invite: Invite | null
  onClose: () => void
  onSaved: () => void
}) {
  const act = useAct()
  const announce = useAnnounce()
  const [name, setName] = useState(invite?.name ?? '')
  const [pressed, setPressed] = useState(false)
  const [start] = useState(() => invite ?? { maxUses: 1, expiresAt: Date.now() + week })
  const limits = useInviteLimits(start)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (!name.trim() || limits.problem) return
    const wanted = { name: name.trim(), ...limits.values }
    const done = await act.run(() =>
      invite ? client.api.invites.change(invite.id, wanted) : client.api.invites.create(wanted),
    )
    if (!done) return
    announce(invite ? 'The invite was changed.' : 'The invite is ready to be sent.')
    onClose()
    onSaved()
  }
  return (
    <Dialog title={invite ? `Edit ${invite.name}` : 'New invite'} onClose={onClose} held={act.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <Field
          label="Name"
          autoComplete="off"
          maxLength={64}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={pressed && !name.trim() ? 'Give it a name.' : null}
          hint="Those you invite see it when they register."
        />
        <InviteLimitFields limits={limits} pressed={pressed} />
        <DialogActions act={act}>
          <Button onClick={onClose} disabled={act.busy}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, invite ? 'Save' : 'Make invite')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
