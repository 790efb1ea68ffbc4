import type { ReactNode } from 'react'

export type PillTone = 'calm' | 'good' | 'warning' | 'bad'

export function Pill({ tone = 'calm', children }: { tone?: PillTone; children: ReactNode }) {
  return <span className={`pill pill--${tone}`}>{children}</span>
}
