import { Link } from 'wouter'
import { AuthFrame } from './auth/auth-frame.tsx'

export function NotFoundPage() {
  return (
    <AuthFrame title="No door here" lead="This address leads to a bare wall. The page may have moved, or never been.">
      <Link href="/" className="button button--primary">
        To the gate
      </Link>
    </AuthFrame>
  )
}
