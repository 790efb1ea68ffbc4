import type { User } from '@gatehouse/client'
import { PageFrame } from '../../components/page-frame.tsx'
import '../../styles/home.css'
import { ConnectedInstances } from './connected-instances.tsx'
import { DeletionSection } from './deletion-section.tsx'
import { Friends } from './friends.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileCard } from './profile-card.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { t } from '../../language/language.ts'

/** The account: profile and friends in one column; instances, password and deletion in the other. */
export function HomePage({ user }: { user: User }) {
  return (
    <PageFrame user={user} title={t('Home')}>
      <h1 className="visually-hidden">{t('Home')}</h1>
      <div className="home">
        <ProfileCard user={user} />
        <div className="home__main stack">
          <ConnectedInstances user={user} />
          <PasswordSection user={user} />
          <SessionsSection user={user} />
          <DeletionSection user={user} />
        </div>
        <Friends user={user} />
      </div>
    </PageFrame>
  )
}
