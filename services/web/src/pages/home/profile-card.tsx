import type { User } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useStore } from '../../hooks/use-store.ts'
import { Button } from '../../parts/button.tsx'
import { Lantern } from '../../parts/lantern.tsx'
import { nameOf } from '../../parts/name-of.ts'
import { Pill } from '../../parts/pill.tsx'
import { sayDay } from '../../parts/say-moment.ts'
import { UserAvatar } from '../../parts/user-avatar.tsx'
import { ProfileDialog } from './profile-dialog.tsx'

export function ProfileCard({ user }: { user: User }) {
  const [editing, setEditing] = useState(false)
  const { phase } = useStore(client.live)
  const banner = client.api.uploads.url(user.banner)
  return (
    <section className="wall profile" aria-label="Profile">
      <div className="profile__banner" style={user.accentColor ? { backgroundColor: user.accentColor } : {}}>
        {banner && <img src={banner} alt="" />}
      </div>
      <div className="profile__top">
        <UserAvatar user={user} size="large" />
        <Button size="small" icon="pencil" onClick={() => setEditing(true)}>
          Edit profile
        </Button>
      </div>
      <div className="stack stack--tight">
        <h2 className="profile__name">{nameOf(user)}</h2>
        <p className="quiet">
          @{user.username} {user.isAdmin && <Pill tone="warning">Admin</Pill>}
        </p>
        <p className="profile__presence">
          <Lantern lit={phase === 'ready'} />
          {phase === 'ready' ? 'Online' : 'Offline'}
          {user.customStatus && <span className="quiet">· {user.customStatus}</span>}
        </p>
        {user.bio && <p className="profile__bio">{user.bio}</p>}
        <p className="small quiet">Here since {sayDay(user.createdAt)}</p>
      </div>
      {editing && <ProfileDialog user={user} onClose={() => setEditing(false)} />}
    </section>
  )
}
