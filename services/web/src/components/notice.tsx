import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

type Tone = 'error' | 'warning' | 'good' | 'neutral'

const icons = { error: 'alert', warning: 'alert', good: 'check', neutral: 'info' } as const

/** A message in the page. Screen readers announce errors at once (`alert`), others politely (`status`). */
export function Notice({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice notice--${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      <span className="notice__icon">
        <Icon name={icons[tone]} />
      </span>
      <div className="notice__body">{children}</div>
    </div>
  )
}

/** Shown in place of an empty list. */
export function EmptyState({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="empty-state">
      <span className="empty-state__icon">
        <Icon name={icon} />
      </span>
      {children}
    </div>
  )
}
