import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { UserAvatar, UserNames } from '../../components/avatar.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { RecoveryLinkDialog, ResetPasswordDialog } from './recovery-dialogs.tsx'
import {
  DeleteUserDialog,
  EndUserSessionsDialog,
  RemoveSecondFactorDialog,
  RoleDialog,
  SuspendDialog,
  UnsuspendDialog,
} from './user-dialogs.tsx'

type Props = { user: User; isSelf: boolean; onChanged: () => void }
type RowProps = Props & { isSelected: boolean; isSelectable: boolean; onSelect: (isOn: boolean) => void }

const dialogs = {
  role: RoleDialog,
  link: RecoveryLinkDialog,
  reset: ResetPasswordDialog,
  factor: RemoveSecondFactorDialog,
  sessions: EndUserSessionsDialog,
  suspend: SuspendDialog,
  unsuspend: UnsuspendDialog,
  delete: DeleteUserDialog,
}

export function UserRow({ user, isSelf, onChanged, isSelected, isSelectable, onSelect }: RowProps) {
  return (
    <li className="list-row">
      <div className="user-item">
        <label className="checkbox">
          <input
            type="checkbox"
            name={`select-${user.id}`}
            id={`select-${user.id}`}
            aria-label={t('Select {username}', { username: user.username })}
            checked={isSelected}
            disabled={!isSelectable}
            onChange={(event) => onSelect(event.target.checked)}
          />
        </label>
        <Link href={`/admin/users/${user.id}`} className="user-item">
          <UserAvatar user={user} />
          <UserNames user={user} />
        </Link>
      </div>
      <div className="list-row__details">
        <UserBadges user={user} isSelf={isSelf} />
        <span className="small muted">
          <Phrase text="Joined {time}" values={{ time: <RelativeTime at={user.createdAt} /> }} />
        </span>
      </div>
      {!user.isDeleted && (
        <div className="list-row__actions">
          <UserMenu user={user} isSelf={isSelf} onChanged={onChanged} />
        </div>
      )}
    </li>
  )
}

export function UserBadges({ user, isSelf }: Omit<Props, 'onChanged'>) {
  return (
    <>
      {user.isAdmin && <Badge tone="warning">{t('Admin')}</Badge>}
      {isSelf && <Badge tone="good">{t('You')}</Badge>}
      {user.suspendedAt != null && <Badge tone="bad">{t('Suspended')}</Badge>}
      {user.isDeleted && <Badge>{t('Deleted')}</Badge>}
    </>
  )
}

/** Everything that an admin can do with an account. Contract: 5. */
export function UserMenu({ user, isSelf, onChanged }: Props) {
  const [opened, setOpened] = useState<keyof typeof dialogs | null>(null)
  const OpenDialog = opened && dialogs[opened]
  const { isAdmin, homeInstance, username } = user
  const isSuspended = user.suspendedAt != null
  const item = (dialog: keyof typeof dialogs) => ({ values: { username }, onClick: () => setOpened(dialog) })
  return (
    <>
      <Menu label={t('Actions for {username}', { username })}>
        {isAdmin && <MenuItem text="Remove admin" fullText="Remove admin: {username}" {...item('role')} />}
        {!isAdmin && !homeInstance && (
          <MenuItem text="Make admin" fullText="Make admin: {username}" {...item('role')} />
        )}
        {!homeInstance && !isSuspended && (
          <MenuItem text="Recovery link" fullText="Recovery link for {username}" {...item('link')} />
        )}
        {!homeInstance && (
          <MenuItem text="Temporary password" fullText="Temporary password for {username}" {...item('reset')} />
        )}
        {user.secondFactor && (
          <MenuItem text="Remove second factor" fullText="Remove second factor of {username}" {...item('factor')} />
        )}
        <MenuItem text="End sessions" fullText="End sessions of {username}" disabled={isSelf} {...item('sessions')} />
        {!homeInstance && !isSuspended && (
          <MenuItem text="Suspend" fullText="Suspend {username}" dangerous disabled={isSelf} {...item('suspend')} />
        )}
        {isSuspended && <MenuItem text="Unsuspend" fullText="Unsuspend {username}" {...item('unsuspend')} />}
        <MenuItem text="Delete" fullText="Delete {username}" dangerous disabled={isSelf} {...item('delete')} />
      </Menu>
      {OpenDialog && <OpenDialog user={user} isSelf={isSelf} onClose={() => setOpened(null)} onChanged={onChanged} />}
    </>
  )
}
