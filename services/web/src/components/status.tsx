import { type ReactNode, useCallback, useRef, useState } from 'react'
import { ToastContext, useAppContext, useConnectionLost } from '../hooks.ts'
import { t, type Text, type Values } from '../language/language.ts'
import { formatDateTime, formatRelativeTime } from './format.ts'
import { Icon, type IconName } from './icon.tsx'

export type BadgeTone = 'neutral' | 'good' | 'warning' | 'bad'

export function Badge({ tone = 'neutral', children }: { tone?: BadgeTone; children: ReactNode }) {
  return <span className={`badge badge--${tone}`}>{children}</span>
}

/** Decorative: the text beside it says the same. */
export function StatusDot({ on }: { on: boolean }) {
  return <span className={on ? 'status-dot status-dot--on' : 'status-dot'} aria-hidden="true" />
}

/** "5 minutes ago", with date and time as tooltip. */
export function RelativeTime({ at }: { at: number }) {
  const { now } = useAppContext()
  return (
    <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
      {formatRelativeTime(at, now())}
    </time>
  )
}

const icons = { error: 'alert', warning: 'alert', good: 'check', neutral: 'info' } as const

type NoticeProps = { tone?: keyof typeof icons; text?: Text | undefined; values?: Values; children?: ReactNode }

/** Screen readers announce errors at once (`alert`), others politely (`status`). */
export function Notice({ tone = 'neutral', text, values, children }: NoticeProps) {
  return (
    <div className={`notice notice--${tone}`} role={tone === 'error' ? 'alert' : 'status'}>
      <span className="notice__icon">
        <Icon name={icons[tone]} />
      </span>
      <div className="notice__body">
        {text && <p>{t(text, values)}</p>}
        {children}
      </div>
    </div>
  )
}

export function EmptyState({ icon, children }: { icon: IconName; children: ReactNode }) {
  return (
    <div className="empty-state">
      <span className="empty-state__icon">
        <Icon name={icon} />
      </span>
      <p>{children}</p>
    </div>
  )
}

export function Skeleton({ rows = 4, of = 'row' }: { rows?: number; of?: 'row' | 'card' }) {
  return (
    <div className={of === 'row' ? 'stack' : 'stack stack--loose'} role="status" aria-label={t('Loading…')}>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className={`skeleton skeleton--${of}`} />
      ))}
    </div>
  )
}

/** The footer says a lost connection to screen readers. */
export function Toaster({ children }: { children: ReactNode }) {
  const isLost = useConnectionLost()
  const [message, setMessage] = useState('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const showToast = useCallback((next: string) => {
    clearTimeout(timer.current)
    setMessage(next)
    timer.current = setTimeout(() => setMessage(''), 5000)
  }, [])
  return (
    <ToastContext value={showToast}>
      {children}
      <div className="toast" role="status">
        {isLost && (
          <p className="toast__message toast__message--lost" aria-hidden="true">
            <Icon name="refresh" />
            {t('Connection lost. Reconnecting…')}
          </p>
        )}
        {message && (
          <p className="toast__message">
            <Icon name="check" />
            {message}
          </p>
        )}
      </div>
    </ToastContext>
  )
}
