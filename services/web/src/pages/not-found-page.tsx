import { Link } from 'wouter'
import { AuthFrame } from './auth/auth-frame.tsx'

export function NotFoundPage() {
  return (
    <AuthFrame
      title="Page not found"
      subtitle="There is no page at this address. Check the link, or go to the start page."
    >
      <Link href="/" className="button button--primary">
        Go to the start page
      </Link>
    </AuthFrame>
  )
}
