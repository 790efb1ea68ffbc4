import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { UserAvatar, UserNames } from '../../components/avatar.tsx'
import { RowButton } from '../../components/button.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { DeleteUserDialog, ResetPasswordDialog, RoleDialog } from './user-dialogs.tsx'

type Props = { user: User; isSelf: boolean; onChanged: () => void }

const dialogs = { role: RoleDialog, reset: ResetPasswordDialog, delete: DeleteUserDialog }

export function UserRow({ user, isSelf, onChanged }: Props) {
  const [opened, setOpened] = useState<keyof typeof dialogs | null>(null)
  const OpenDialog = opened && dialogs[opened]
  const { isAdmin, homeInstance, username } = user
  const button = (dialog: keyof typeof dialogs) => ({ values: { username }, onClick: () => setOpened(dialog) })
  return (
    <li className="list-row">
      <div className="user-item">
        <UserAvatar user={user} />
        <UserNames user={user} />
      </div>
      <div className="list-row__details">
        {user.isAdmin && <Badge tone="warning">{t('Admin')}</Badge>}
        {isSelf && <Badge tone="good">{t('You')}</Badge>}
        {user.isDeleted && <Badge>{t('Deleted')}</Badge>}
        <span className="small muted">
          <Phrase text="Joined {time}" values={{ time: <RelativeTime at={user.createdAt} /> }} />
        </span>
      </div>
      {!user.isDeleted && (
        <div className="list-row__actions">
          {isAdmin && <RowButton text="Remove admin" fullText="Remove admin: {username}" {...button('role')} />}
          {!isAdmin && !homeInstance && (
            <RowButton text="Make admin" fullText="Make admin: {username}" {...button('role')} />
          )}
          {!homeInstance && (
            <RowButton text="Reset password" fullText="Reset password of {username}" {...button('reset')} />
          )}
          <RowButton
            text="Delete"
            fullText="Delete {username}"
            variant="danger"
            aria-disabled={isSelf}
            {...button('delete')}
          />
        </div>
      )}
      {OpenDialog && <OpenDialog user={user} isSelf={isSelf} onClose={() => setOpened(null)} onChanged={onChanged} />}
    </li>
  )
}
