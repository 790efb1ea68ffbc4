import type { ButtonHTMLAttributes } from 'react'
import { Icon, type IconName } from './icon.tsx'

type Variant = 'outline' | 'primary' | 'danger' | 'danger-solid' | 'plain'

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: Variant
  size?: 'normal' | 'small'
  wide?: boolean
  busy?: boolean
  icon?: IconName
}

/** Shows progress while `busy`: the button stays focusable, keeps its place and ignores clicks. */
export function Button(props: Props) {
  const {
    variant = 'outline',
    size = 'normal',
    wide,
    busy = false,
    icon,
    children,
    className,
    onClick,
    ...rest
  } = props
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

/** A square button with an icon; the label is its accessible name and its tooltip. */
export function IconButton({
  label,
  icon,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { label: string; icon: IconName }) {
  return (
    <button type="button" {...rest} className="button button--icon" aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  )
}
