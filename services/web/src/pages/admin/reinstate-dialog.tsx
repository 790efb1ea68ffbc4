import type { Invite } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { InviteLimitFields, useInviteLimits } from './invite-limits.tsx'

type Props = { invite: Invite; onClose: () => void; onChanged: () => void }

/** Opens an invite again with limits that let it be active. A revoked one gets a new link. Spec: Invite status. */
export function ReinstateDialog({ invite, onClose, onChanged }: Props) {
  const act = useAct()
  const announce = useAnnounce()
  const [pressed, setPressed] = useState(false)
  const [start] = useState(() => roomierLimits(invite, Date.now()))
  const limits = useInviteLimits(start)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (limits.problem) return
    const done = await act.run(async () => {
      const { tokenRotated } = await client.api.invites.reinstate(invite.id, limits.values)
      announce(tokenRotated ? `${invite.name} is open again, with a new link.` : `${invite.name} is open again.`)
    })
    if (!done) return
    onClose()
    onChanged()
  }
  return (
    <Dialog title={`Reinstate ${invite.name}`} onClose={onClose} held={act.busy}>
      <form className="stack stack--tight" noValidate onSubmit={(event) => void submit(event)}>
        <p>
          {invite.status === 'revoked' ? 'It gets a new link; the old one stays dead.' : 'Its link stays the same.'}
        </p>
        <InviteLimitFields limits={limits} pressed={pressed} />
        <DialogActions act={act}>
          <Button onClick={onClose} disabled={act.busy}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
            {limitedLabel(act, 'Reinstate')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

/** The invite's own limits, moved only as far as an active invite needs: one more use, one more week. */
function roomierLimits(invite: Invite, now: number): Pick<Invite, 'maxUses' | 'expiresAt'> {
  const full = invite.maxUses !== null && invite.usedCount >= invite.maxUses
  const over = invite.expiresAt !== null && invite.expiresAt <= now
  return {
    maxUses: full ? invite.usedCount + 1 : invite.maxUses,
    expiresAt: over ? now + 7 * 86_400_000 : invite.expiresAt,
  }
}
