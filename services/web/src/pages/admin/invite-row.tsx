import type { Invite } from '@gatehouse/client'
import { useState } from 'react'
import { UserName } from '../../components/avatar.tsx'
import { LinkField } from '../../components/link-field.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Badge, type BadgeTone, RelativeTime } from '../../components/status.tsx'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import {
  DeleteInviteDialog,
  InviteDialog,
  RedemptionsDialog,
  ReinstateDialog,
  RevokeDialog,
  SuspendInvitedDialog,
} from './invite-dialogs.tsx'

const statuses: Record<Invite['status'], { tone: BadgeTone; label: Text }> = {
  active: { tone: 'good', label: 'active' },
  exhausted: { tone: 'neutral', label: 'used up' },
  expired: { tone: 'warning', label: 'expired' },
  revoked: { tone: 'bad', label: 'revoked' },
}

const dialogs = {
  edit: InviteDialog,
  revoke: RevokeDialog,
  reinstate: ReinstateDialog,
  delete: DeleteInviteDialog,
  redemptions: RedemptionsDialog,
  suspend: SuspendInvitedDialog,
}

export function InviteRow({ invite, onChanged }: { invite: Invite; onChanged: () => void }) {
  const [opened, setOpened] = useState<keyof typeof dialogs | null>(null)
  const OpenDialog = opened && dialogs[opened]
  const status = statuses[invite.status]
  const active = invite.status === 'active'
  const revoked = invite.status === 'revoked'
  const item = (dialog: keyof typeof dialogs) => ({ values: { name: invite.name }, onClick: () => setOpened(dialog) })
  return (
    <li className="list-row list-row--tall">
      <div className="stack stack--tight">
        <h3>
          <UserName>{invite.name}</UserName> <Badge tone={status.tone}>{t(status.label)}</Badge>
        </h3>
        <p className="small muted">
          {formatUses(invite)} · <Expiry invite={invite} /> · <Creation invite={invite} />
        </p>
      </div>
      {active && (
        <LinkField
          url={invite.url}
          name="invite-link"
          id={`invite-link-${invite.id}`}
          label={t('Link of {name}', { name: invite.name })}
          copyLabel={t('Copy the link of {name}', { name: invite.name })}
        />
      )}
      <div className="list-row__actions">
        <Menu label={t('Actions for {username}', { username: invite.name })}>
          <MenuItem text="Who used it" fullText="Who used it: {name}" {...item('redemptions')} />
          {!revoked && <MenuItem text="Edit" fullText="Edit {name}" {...item('edit')} />}
          {!active && <MenuItem text="Reinstate" fullText="Reinstate {name}" {...item('reinstate')} />}
          {invite.usedCount > 0 && (
            <MenuItem text="Suspend its users" fullText="Suspend its users: {name}" dangerous {...item('suspend')} />
          )}
          {!revoked && <MenuItem text="Revoke" fullText="Revoke {name}" dangerous {...item('revoke')} />}
          <MenuItem text="Delete" fullText="Delete {name}" dangerous {...item('delete')} />
        </Menu>
      </div>
      {OpenDialog && <OpenDialog invite={invite} onClose={() => setOpened(null)} onChanged={onChanged} />}
    </li>
  )
}

function Expiry({ invite: { expiresAt, status } }: { invite: Invite }) {
  if (expiresAt === null) return t('never expires')
  const values = { time: <RelativeTime at={expiresAt} /> }
  return <Phrase text={status === 'expired' ? 'expired {time}' : 'expires {time}'} values={values} />
}

function Creation({ invite: { createdAt, createdByUsername } }: { invite: Invite }) {
  const values = {
    time: <RelativeTime at={createdAt} />,
    name: createdByUsername && <UserName>{createdByUsername}</UserName>,
  }
  return <Phrase text={createdByUsername ? 'created {time} by {name}' : 'created {time}'} values={values} />
}

function formatUses({ usedCount: used, maxUses: max }: Invite): string {
  if (max === null) return used === 1 ? t('1 use, no limit') : t('{used} uses, no limit', { used })
  return max === 1 ? t('{used} of 1 use', { used }) : t('{used} of {max} uses', { used, max })
}
