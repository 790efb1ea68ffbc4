import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Moment } from '../../parts/moment.tsx'
import { nameOf } from '../../parts/name-of.ts'
import { Pill } from '../../parts/pill.tsx'
import { UserAvatar } from '../../parts/user-avatar.tsx'
import { DeleteUserDialog } from './delete-user-dialog.tsx'
import { ResetPasswordDialog } from './reset-password-dialog.tsx'
import { RoleDialog } from './role-dialog.tsx'

type Props = { user: User; isSelf: boolean; onChanged: () => void }

export function UserRow({ user, isSelf, onChanged }: Props) {
  const [open, setOpen] = useState<'role' | 'reset' | 'delete' | null>(null)
  const close = () => setOpen(null)
  return (
    <li className="entry">
      <div className="person">
        <UserAvatar user={user} />
        <span className="person__names">
          <span className="person__name">{nameOf(user)}</span>
          <span className="quiet small">{user.isDeleted ? `id ${user.id}` : `@${user.username}`}</span>
        </span>
      </div>
      <div className="entry__facts">
        {user.isAdmin && <Pill tone="warning">Admin</Pill>}
        {isSelf && <Pill tone="good">You</Pill>}
        {user.isDeleted && <Pill>Deleted</Pill>}
        {user.homeInstance && <Pill>{user.homeInstance}</Pill>}
        <span className="small quiet">
          Joined <Moment at={user.createdAt} />
        </span>
      </div>
      {!user.isDeleted && (
        <div className="entry__acts">
          <Button
            size="small"
            aria-label={`${user.isAdmin ? 'Remove admin' : 'Make admin'}: ${user.username}`}
            onClick={() => setOpen('role')}
          >
            {user.isAdmin ? 'Remove admin' : 'Make admin'}
          </Button>
          {!user.homeInstance && (
            <Button size="small" aria-label={`Reset password of ${user.username}`} onClick={() => setOpen('reset')}>
              Reset password
            </Button>
          )}
          <Button
            size="small"
            look="danger"
            aria-label={`Delete ${user.username}`}
            aria-disabled={isSelf}
            onClick={() => setOpen('delete')}
          >
            Delete
          </Button>
        </div>
      )}
      {open === 'role' && <RoleDialog user={user} isSelf={isSelf} onClose={close} onChanged={onChanged} />}
      {open === 'reset' && <ResetPasswordDialog user={user} isSelf={isSelf} onClose={close} />}
      {open === 'delete' && <DeleteUserDialog user={user} onClose={close} onChanged={onChanged} />}
    </li>
  )
}
