import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { displayNameOf, UserAvatar } from '../../components/avatar.tsx'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { DeleteUserDialog, ResetPasswordDialog, RoleDialog } from './user-dialogs.tsx'
import { Phrase } from '../../language/phrase.tsx'
import { t } from '../../language/language.ts'

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
          <span className="muted small">{user.isDeleted ? t('id {id}', { id: user.id }) : `@${user.username}`}</span>
        </span>
      </div>
      <div className="list-row__details">
        {user.isAdmin && <Badge tone="warning">{t('Admin')}</Badge>}
        {isSelf && <Badge tone="good">{t('You')}</Badge>}
        {user.isDeleted && <Badge>{t('Deleted')}</Badge>}
        {user.homeInstance && <Badge>{user.homeInstance}</Badge>}
        <span className="small muted">
          <Phrase text="Joined {time}" values={{ time: <RelativeTime at={user.createdAt} /> }} />
        </span>
      </div>
      {!user.isDeleted && (
        <div className="list-row__actions">
          {(user.isAdmin || !user.homeInstance) && (
            <Button
              size="small"
              aria-label={
                user.isAdmin
                  ? t('Remove admin: {username}', { username: user.username })
                  : t('Make admin: {username}', { username: user.username })
              }
              onClick={() => setOpenDialog('role')}
            >
              {user.isAdmin ? t('Remove admin') : t('Make admin')}
            </Button>
          )}
          {!user.homeInstance && (
            <Button
              size="small"
              aria-label={t('Reset password of {username}', { username: user.username })}
              onClick={() => setOpenDialog('reset')}
            >
              {t('Reset password')}
            </Button>
          )}
          <Button
            size="small"
            variant="danger"
            aria-label={t('Delete {username}', { username: user.username })}
            aria-disabled={isSelf}
            onClick={() => setOpenDialog('delete')}
          >
            {t('Delete')}
          </Button>
        </div>
      )}
      {openDialog === 'role' && <RoleDialog user={user} isSelf={isSelf} onClose={close} onChanged={onChanged} />}
      {openDialog === 'reset' && <ResetPasswordDialog user={user} isSelf={isSelf} onClose={close} />}
      {openDialog === 'delete' && <DeleteUserDialog user={user} onClose={close} onChanged={onChanged} />}
    </li>
  )
}
