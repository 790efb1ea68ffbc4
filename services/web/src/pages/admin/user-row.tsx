import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { displayNameOf, UserAvatar } from '../../components/avatar.tsx'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { DeleteUserDialog, ResetPasswordDialog, RoleDialog } from './user-dialogs.tsx'

type Props = { user: User; isSelf: boolean; onChanged: () => void }

export function UserRow({ user, isSelf, onChanged }: Props) {
  const [openDialog, setOpenDialog] = useState<'role' | 'reset' | 'delete' | null>(null)
  const close = () => setOpenDialog(null)
  return (
    <li className="list-row">
      <div className="user-item">
        <UserAvatar user={user} />
        <span className="user-item__names">
          <span className="user-item__name">{displayNameOf(user)}</span>
          <span className="muted small">{user.isDeleted ? `id ${user.id}` : `@${user.username}`}</span>
        </span>
      </div>
      <div className="list-row__details">
        {user.isAdmin && <Badge tone="warning">Admin</Badge>}
        {isSelf && <Badge tone="good">You</Badge>}
        {user.isDeleted && <Badge>Deleted</Badge>}
        {user.homeInstance && <Badge>{user.homeInstance}</Badge>}
        <span className="small muted">
          Joined <RelativeTime at={user.createdAt} />
        </span>
      </div>
      {!user.isDeleted && (
        <div className="list-row__actions">
          {(user.isAdmin || !user.homeInstance) && (
            <Button
              size="small"
              aria-label={`${user.isAdmin ? 'Remove admin' : 'Make admin'}: ${user.username}`}
              onClick={() => setOpenDialog('role')}
            >
              {user.isAdmin ? 'Remove admin' : 'Make admin'}
            </Button>
          )}
          {!user.homeInstance && (
            <Button
              size="small"
              aria-label={`Reset password of ${user.username}`}
              onClick={() => setOpenDialog('reset')}
            >
              Reset password
            </Button>
          )}
          <Button
            size="small"
            variant="danger"
            aria-label={`Delete ${user.username}`}
            aria-disabled={isSelf}
            onClick={() => setOpenDialog('delete')}
          >
            Delete
          </Button>
        </div>
      )}
      {openDialog === 'role' && <RoleDialog user={user} isSelf={isSelf} onClose={close} onChanged={onChanged} />}
      {openDialog === 'reset' && <ResetPasswordDialog user={user} isSelf={isSelf} onClose={close} />}
      {openDialog === 'delete' && <DeleteUserDialog user={user} onClose={close} onChanged={onChanged} />}
    </li>
  )
}
