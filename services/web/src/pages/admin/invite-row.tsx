import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Pill, type PillTone } from '../../parts/pill.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { ReinstateDialog } from './reinstate-dialog.tsx'
import { RedemptionsDialog } from './redemptions-dialog.tsx'
import { DeleteInviteDialog, RevokeDialog } from './end-invite-dialogs.tsx'

const tones: Record<Invite['status'], PillTone> = {
  active: 'good',
  exhausted: 'calm',
  expired: 'warning',
  revoked: 'bad',
}

type Open = 'edit' | 'revoke' | 'reinstate' | 'delete' | 'redemptions' | null

export function InviteRow({ invite, onChanged }: { invite: Invite; onChanged: () => void }) {
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const active = invite.status === 'active'
  return (
    <li className="entry entry--tall">
      <div className="stack stack--tight">
        <h3>
          {invite.name} <Pill tone={tones[invite.status]}>{invite.status}</Pill>
        </h3>
        <p className="small quiet">
          {sayUses(invite)} ·{' '}
          {invite.expiresAt === null ? (
            'never expires'
          ) : (
            <>
              {invite.status === 'expired' ? 'expired' : 'expires'} <Moment at={invite.expiresAt} />
            </>
          )}{' '}
          · made <Moment at={invite.createdAt} /> by {invite.createdByUsername ?? 'someone'}
        </p>
      </div>
      {active && (
        <div className="copy-line">
          <input
            className="input"
            readOnly
            value={invite.url}
            aria-label={`Link of ${invite.name}`}
            onFocus={(event) => event.target.select()}
          />
          <CopyButton text={invite.url} label={`Copy the link of ${invite.name}`} />
        </div>
      )}
      <div className="entry__acts">
        <Button size="small" aria-label={`Who used it: ${invite.name}`} onClick={() => setOpen('redemptions')}>
          Who used it
        </Button>
        {invite.status !== 'revoked' && (
          <Button size="small" aria-label={`Edit ${invite.name}`} onClick={() => setOpen('edit')}>
            Edit
          </Button>
        )}
        {!active && (
          <Button size="small" aria-label={`Reinstate ${invite.name}`} onClick={() => setOpen('reinstate')}>
            Reinstate
          </Button>
        )}
        {invite.status !== 'revoked' && (
          <Button size="small" look="danger" aria-label={`Revoke ${invite.name}`} onClick={() => setOpen('revoke')}>
            Revoke
          </Button>
        )}
        <Button size="small" look="danger" aria-label={`Delete ${invite.name}`} onClick={() => setOpen('delete')}>
          Delete
        </Button>
      </div>
      {open === 'edit' && <InviteDialog invite={invite} onClose={close} onSaved={onChanged} />}
      {open === 'reinstate' && <ReinstateDialog invite={invite} onClose={close} onChanged={onChanged} />}
      {open === 'revoke' && <RevokeDialog invite={invite} onClose={close} onChanged={onChanged} />}
      {open === 'delete' && <DeleteInviteDialog invite={invite} onClose={close} onChanged={onChanged} />}
      {open === 'redemptions' && <RedemptionsDialog invite={invite} onClose={close} />}
    </li>
  )
}

function sayUses({ usedCount, maxUses }: Invite): string {
  const uses = (maxUses ?? usedCount) === 1 ? 'use' : 'uses'
  return maxUses === null ? `${usedCount} ${uses}, no limit` : `${usedCount} of ${maxUses} ${uses}`
}
