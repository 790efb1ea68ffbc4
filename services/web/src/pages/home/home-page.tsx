import type { User } from '@gatehouse/client'
import { PageFrame } from '../../components/page-frame.tsx'
import { ConnectedInstances } from './connected-instances.tsx'
import { DeletionSection } from './deletion-section.tsx'
import { Friends } from './friends.tsx'
import { PasswordForm } from './password-form.tsx'
import { ProfileCard } from './profile-card.tsx'

/** The account: profile and friends in one column; instances, password and deletion in the other. */
export function HomePage({ user }: { user: User }) {
  return (
    <PageFrame user={user} title="Home">
      <h1 className="visually-hidden">Home</h1>
      <div className="home">
        <ProfileCard user={user} />
        <div className="home__main stack">
          <ConnectedInstances user={user} />
          <PasswordForm user={user} />
          <DeletionSection user={user} />
        </div>
        <Friends user={user} />
      </div>
    </PageFrame>
  )
}
