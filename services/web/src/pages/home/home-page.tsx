import type { User } from '@gatehouse/client'
import { PageFrame } from '../../parts/page-frame.tsx'
import { Friends } from './friends.tsx'
import { Instances } from './instances.tsx'
import { Leaving } from './leaving.tsx'
import { PasswordForm } from './password-form.tsx'
import { ProfileCard } from './profile-card.tsx'

/** One's own place: profile and friends on one side, instances, password and leaving on the other. */
export function HomePage({ user }: { user: User }) {
  return (
    <PageFrame user={user} title="Home">
      <h1 className="visually-hidden">Home</h1>
      <div className="home">
        <ProfileCard user={user} />
        <div className="home__main stack">
          <Instances user={user} />
          <PasswordForm user={user} />
          <Leaving user={user} />
        </div>
        <Friends user={user} />
      </div>
    </PageFrame>
  )
}
