import { Link } from 'wouter'
import { PageFrame } from '../components/page-frame.tsx'
import { useClient, useStore } from '../hooks.ts'
import { AuthFrame } from './auth/auth-frame.tsx'
import { t } from '../language/language.ts'

export function NotFoundPage() {
  const { user } = useStore(useClient().session)
  const title = t('Page not found')
  const text = t('There’s no page at this address. Check the link or go to the home page.')
  const link = (
    <Link href="/" className="button button--primary">
      {t('Go to the home page')}
    </Link>
  )
  if (!user) {
    return (
      <AuthFrame title={title} subtitle={text}>
        {link}
      </AuthFrame>
    )
  }
  return (
    <PageFrame user={user} title={title}>
      <div className="stack">
        <h1>{title}</h1>
        <p className="muted">{text}</p>
        <p>{link}</p>
      </div>
    </PageFrame>
  )
}
