import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { Badge, type BadgeTone } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { DeleteInviteDialog, ReinstateDialog, RevokeDialog } from './invite-status-dialogs.tsx'
import { RedemptionsDialog } from './redemptions-dialog.tsx'
import { type Text, t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'

const statuses: Record<Invite['status'], { tone: BadgeTone; label: Text }> = {
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
          {invite.name} <Badge tone={status.tone}>{t(status.label)}</Badge>
        </h3>
        <p className="small muted">
          {formatUses(invite)} · <Expiry invite={invite} /> · <Creation invite={invite} />
        </p>
      </div>
      {active && (
        <div className="copy-field">
          <input
            className="input"
            readOnly
            name="invite-link"
            id={`invite-link-${invite.id}`}
            autoComplete="off"
            value={invite.url}
            aria-label={t('Link of {name}', { name: invite.name })}
            onFocus={(event) => event.target.select()}
          />
          <CopyButton text={invite.url} label={t('Copy the link of {name}', { name: invite.name })} />
        </div>
      )}
      <div className="list-row__actions">
        <Button
          size="small"
          aria-label={t('Who used it: {name}', { name: invite.name })}
          onClick={() => setOpenDialog('redemptions')}
        >
          {t('Who used it')}
        </Button>
        {invite.status !== 'revoked' && (
          <Button
            size="small"
            aria-label={t('Edit {name}', { name: invite.name })}
            onClick={() => setOpenDialog('edit')}
          >
            {t('Edit')}
          </Button>
        )}
        {!active && (
          <Button
            size="small"
            aria-label={t('Reinstate {name}', { name: invite.name })}
            onClick={() => setOpenDialog('reinstate')}
          >
            {t('Reinstate')}
          </Button>
        )}
        {invite.status !== 'revoked' && (
          <Button
            size="small"
            variant="danger"
            aria-label={t('Revoke {name}', { name: invite.name })}
            onClick={() => setOpenDialog('revoke')}
          >
            {t('Revoke')}
          </Button>
        )}
        <Button
          size="small"
          variant="danger"
          aria-label={t('Delete {name}', { name: invite.name })}
          onClick={() => setOpenDialog('delete')}
        >
          {t('Delete')}
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

function Expiry({ invite: { expiresAt, status } }: { invite: Invite }) {
  if (expiresAt === null) return t('never expires')
  const values = { time: <RelativeTime at={expiresAt} /> }
  return <Phrase text={status === 'expired' ? 'expired {time}' : 'expires {time}'} values={values} />
}

function Creation({ invite: { createdAt, createdByUsername } }: { invite: Invite }) {
  const values = { time: <RelativeTime at={createdAt} />, name: createdByUsername }
  return <Phrase text={createdByUsername ? 'created {time} by {name}' : 'created {time}'} values={values} />
}

function formatUses({ usedCount: used, maxUses: max }: Invite): string {
  if (max === null) return used === 1 ? t('1 use, no limit') : t('{used} uses, no limit', { used })
  return max === 1 ? t('{used} of 1 use', { used }) : t('{used} of {max} uses', { used, max })
}
