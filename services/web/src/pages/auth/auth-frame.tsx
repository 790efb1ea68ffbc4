import { type ReactNode, useRef } from 'react'
import { useNewPage } from '../../components/page-frame.tsx'
import { LanguageSelect, ThemeToggle } from '../../components/preferences.tsx'
import { Wordmark } from '../../components/wordmark.tsx'
import { AuthIllustration } from './auth-illustration.tsx'

type Props = { title: string; subtitle?: ReactNode; above?: ReactNode; children: ReactNode }

/** The frame of the pages without a login. */
export function AuthFrame({ title, subtitle, above, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useNewPage(heading, title)
  return (
    <div className="auth">
      <div className="auth__illustration">
        <AuthIllustration />
      </div>
      <main className="auth__content">
        <div className="auth__header">
          <Wordmark />
          <div className="auth__choices">
            <LanguageSelect />
            <ThemeToggle />
          </div>
        </div>
        <div className="auth__form">
          <div className="auth__heading">
            {above}
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {subtitle && <p className="auth__subtitle">{subtitle}</p>}
          </div>
          {children}
        </div>
      </main>
    </div>
  )
}
