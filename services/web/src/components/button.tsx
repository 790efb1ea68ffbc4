import type { ButtonHTMLAttributes } from 'react'
import { t, type Text } from '../language/language.ts'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: 'outline' | 'primary' | 'danger' | 'danger-solid' | 'plain'
  size?: 'normal' | 'small'
  wide?: boolean
  busy?: boolean
  icon?: IconName
}

/** A `busy` button stays focusable and ignores clicks. */
export function Button({ variant = 'outline', size, wide, busy = false, icon, ...props }: ButtonProps) {
  const { children, className, onClick, ...rest } = props
  const names = ['button', `button--${variant}`, size === 'small' && 'button--small', wide && 'button--wide', className]
  return (
    <button
      type="button"
      {...rest}
      className={names.filter(Boolean).join(' ')}
      aria-disabled={busy || rest['aria-disabled'] || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (busy || rest['aria-disabled']) return event.preventDefault()
        onClick?.(event)
      }}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

type RowButtonProps = ButtonProps & { text: Text; fullText: Text; values: Readonly<Record<string, string>> }

export function RowButton({ text, fullText, values, ...button }: RowButtonProps) {
  return (
    <Button size="small" {...button} aria-label={t(fullText, values)}>
      {t(text)}
    </Button>
  )
}

type IconButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { label: string; icon: IconName }

export function IconButton({ label, icon, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} className="button button--icon" aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  )
}
