import { useEffect, useRef, type ReactNode } from 'react'
import { GateScene } from '../../parts/gate-scene.tsx'
import { ThemeToggle } from '../../parts/theme-toggle.tsx'
import { Wordmark } from '../../parts/wordmark.tsx'

type Props = { title: string; lead?: ReactNode; above?: ReactNode; children: ReactNode }

/** The frame of the pages before the gate. A new title takes the focus, so that a screen reader hears the new page. */
export function AuthFrame({ title, lead, above, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Gatehouse`
    if (!heading.current?.closest('main')?.contains(document.activeElement)) heading.current?.focus()
  }, [title])
  return (
    <div className="auth">
      <div className="auth__scene">
        <GateScene />
      </div>
      <main className="auth__side">
        <div className="auth__bar">
          <Wordmark />
          <ThemeToggle />
        </div>
        <div className="auth__form">
          <div className="auth__head">
            {above}
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {lead && <p className="auth__lead">{lead}</p>}
          </div>
          {children}
        </div>
      </main>
    </div>
  )
}
