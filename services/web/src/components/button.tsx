import type { ButtonHTMLAttributes } from 'react'
import { t, type Text, type Values } from '../language/language.ts'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  text?: Text
  /** For screen readers, where several rows have the same button. */
  fullText?: Text
  values?: Values
  variant?: 'outline' | 'primary' | 'danger' | 'danger-solid' | 'plain'
  size?: 'normal' | 'small'
  wide?: boolean
  busy?: boolean
  icon?: IconName
}

/** A `busy` button stays focusable and ignores clicks. */
export function Button({ variant = 'outline', size, wide, busy = false, icon, ...props }: ButtonProps) {
  const { text, fullText, values, children = text && t(text, values), className, onClick, ...rest } = props
  const names = ['button', `button--${variant}`, size === 'small' && 'button--small', wide && 'button--wide', className]
  return (
    <button
      type="button"
      aria-label={fullText && t(fullText, values)}
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

type IconButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { label: string; icon?: IconName }

export function IconButton({ label, icon = 'more', children = <Icon name={icon} />, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} className="button button--icon" aria-label={label} title={label}>
      {children}
    </button>
  )
}
