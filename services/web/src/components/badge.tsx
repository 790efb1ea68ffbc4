import type { ReactNode } from 'react'

export type BadgeTone = 'neutral' | 'good' | 'warning' | 'bad'

/** A short status text on a colored background. */
export function Badge({ tone = 'neutral', children }: { tone?: BadgeTone; children: ReactNode }) {
  return <span className={`badge badge--${tone}`}>{children}</span>
}

/** A filled or empty dot. Decorative: the text beside it says the same. */
export function StatusDot({ on }: { on: boolean }) {
  return <span className={on ? 'status-dot status-dot--on' : 'status-dot'} aria-hidden="true" />
}
