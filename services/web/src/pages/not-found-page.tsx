import { Link } from 'wouter'
import { AuthFrame } from './auth/auth-frame.tsx'
import { t } from '../language/language.ts'

export function NotFoundPage() {
  return (
    <AuthFrame
      title={t('Page not found')}
      subtitle={t('There is no page at this address. Check the link, or go to the start page.')}
    >
      <Link href="/" className="button button--primary">
        {t('Go to the start page')}
      </Link>
    </AuthFrame>
  )
}
