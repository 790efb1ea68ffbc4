import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { Badge, type BadgeTone } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { DeleteInviteDialog, ReinstateDialog, RevokeDialog } from './invite-status-dialogs.tsx'
import { RedemptionsDialog } from './redemptions-dialog.tsx'

const statuses: Record<Invite['status'], { tone: BadgeTone; label: string }> = {
  active: { tone: 'good', label: 'active' },
  exhausted: { tone: 'neutral', label: 'used up' },
  expired: { tone: 'warning', label: 'expired' },
  revoked: { tone: 'bad', label: 'revoked' },
}

type DialogName = 'edit' | 'revoke' | 'reinstate' | 'delete' | 'redemptions' | null

export function InviteRow({ invite, onChanged }: { invite: Invite; onChanged: () => void }) {
  const [openDialog, setOpenDialog] = useState<DialogName>(null)
  const close = () => setOpenDialog(null)
  const status = statuses[invite.status]
  const active = invite.status === 'active'
  return (
    <li className="list-row list-row--tall">
      <div className="stack stack--tight">
        <h3>
          {invite.name} <Badge tone={status.tone}>{status.label}</Badge>
        </h3>
        <p className="small muted">
          {formatUses(invite)} ·{' '}
          {invite.expiresAt === null ? (
            'never expires'
          ) : (
            <>
              {invite.status === 'expired' ? 'expired' : 'expires'} <RelativeTime at={invite.expiresAt} />
            </>
          )}{' '}
          · created <RelativeTime at={invite.createdAt} />
          {invite.createdByUsername && ` by ${invite.createdByUsername}`}
        </p>
      </div>
      {active && (
        <div className="copy-field">
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
      <div className="list-row__actions">
        <Button size="small" aria-label={`Who used it: ${invite.name}`} onClick={() => setOpenDialog('redemptions')}>
          Who used it
        </Button>
        {invite.status !== 'revoked' && (
          <Button size="small" aria-label={`Edit ${invite.name}`} onClick={() => setOpenDialog('edit')}>
            Edit
          </Button>
        )}
        {!active && (
          <Button size="small" aria-label={`Reinstate ${invite.name}`} onClick={() => setOpenDialog('reinstate')}>
            Reinstate
          </Button>
        )}
        {invite.status !== 'revoked' && (
          <Button
            size="small"
            variant="danger"
            aria-label={`Revoke ${invite.name}`}
            onClick={() => setOpenDialog('revoke')}
          >
            Revoke
          </Button>
        )}
        <Button
          size="small"
          variant="danger"
          aria-label={`Delete ${invite.name}`}
          onClick={() => setOpenDialog('delete')}
        >
          Delete
        </Button>
      </div>
      {openDialog === 'edit' && <InviteDialog invite={invite} onClose={close} onSaved={onChanged} />}
      {openDialog === 'reinstate' && <ReinstateDialog invite={invite} onClose={close} onChanged={onChanged} />}
      {openDialog === 'revoke' && <RevokeDialog invite={invite} onClose={close} onChanged={onChanged} />}
      {openDialog === 'delete' && <DeleteInviteDialog invite={invite} onClose={close} onChanged={onChanged} />}
      {openDialog === 'redemptions' && <RedemptionsDialog invite={invite} onClose={close} />}
    </li>
  )
}

function formatUses({ usedCount, maxUses }: Invite): string {
  const uses = (maxUses ?? usedCount) === 1 ? 'use' : 'uses'
  return maxUses === null ? `${usedCount} ${uses}, no limit` : `${usedCount} of ${maxUses} ${uses}`
}
