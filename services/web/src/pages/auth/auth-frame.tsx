import { type ReactNode, useRef } from 'react'
import { useNewPage } from '../../components/page-frame.tsx'
import { LanguageSelect, ThemeToggle } from '../../components/preferences.tsx'
import { Wordmark } from '../../components/wordmark.tsx'
import { useInstanceInfo } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
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
        <About />
      </main>
    </div>
  )
}

/** What the instance says of itself. Contract: 5, Settings. */
function About() {
  const { info } = useInstanceInfo()
  if (!info?.description && !info?.rules && !info?.contact) return null
  return (
    <div className="auth__about stack stack--tight">
      {info.description && (
        <p>
          <bdi>{info.description}</bdi>
        </p>
      )}
      {info.contact && (
        <p>
          <Phrase text="Contact: {contact}" values={{ contact: <bdi>{info.contact}</bdi> }} />
        </p>
      )}
      {info.rules && (
        <details>
          <summary>{t('Rules')}</summary>
          <p dir="auto">{info.rules}</p>
        </details>
      )}
    </div>
  )
}
