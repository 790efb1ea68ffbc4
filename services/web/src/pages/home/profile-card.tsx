import type { User } from '@gatehouse/client'
import { displayNameOf, UserAvatar, UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { formatDate } from '../../components/format.ts'
import { Badge, StatusDot } from '../../components/status.tsx'
import { useClient, useKeptState, useStore } from '../../hooks.ts'
import { ProfileDialog } from './profile-dialog.tsx'
import { t } from '../../language/language.ts'

export function ProfileCard({ user }: { user: User }) {
  const client = useClient()
  const [editing, setEditing] = useKeptState(`editing ${user.id}`, false)
  const { phase } = useStore(client.live)
  const banner = client.uploadUrl(user.banner)
  return (
    <section className="card profile" aria-label={t('Profile')}>
      <div className="profile__banner" style={user.accentColor ? { backgroundColor: user.accentColor } : {}}>
        {banner && <img src={banner} alt="" />}
      </div>
      <div className="profile__top">
        <UserAvatar user={user} size="large" />
        <Button size="small" icon="pencil" onClick={() => setEditing(true)}>
          {t('Edit profile')}
        </Button>
      </div>
      <div className="stack stack--tight">
        <h2 className="profile__name">
          <UserName>{displayNameOf(user)}</UserName>
        </h2>
        <p className="muted">
          <UserName>{`@${user.username}`}</UserName> {user.isAdmin && <Badge tone="warning">{t('Admin')}</Badge>}
        </p>
        <p className="profile__presence">
          <StatusDot on={phase === 'ready'} />
          {phase === 'ready' ? t('Online') : t('Offline')}
          {user.customStatus && (
            <span className="muted">
              · <UserName>{user.customStatus}</UserName>
            </span>
          )}
        </p>
        {user.bio && (
          <p className="profile__bio">
            <UserName>{user.bio}</UserName>
          </p>
        )}
        <p className="small muted">{t('Member since {date}', { date: formatDate(user.createdAt) })}</p>
      </div>
      {editing && <ProfileDialog user={user} onClose={() => setEditing(false)} />}
    </section>
  )
}
