import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

type Tone = 'error' | 'warning' | 'good' | 'calm'

const icons = { error: 'alert', warning: 'alert', good: 'check', calm: 'info' } as const

/** A message in the page. Errors interrupt a screen reader, the others wait their turn. */
export function Notice({ tone = 'calm', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice notice--${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      <span className="notice__icon">
        <Icon name={icons[tone]} />
      </span>
      <div className="notice__body">{children}</div>
    </div>
  )
}
