import type { ButtonHTMLAttributes } from 'react'
import { Icon, type IconName } from './icon.tsx'

type Look = 'outline' | 'primary' | 'danger' | 'danger-solid' | 'plain'

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: Look
  size?: 'normal' | 'small'
  wide?: boolean
  busy?: boolean
  icon?: IconName
}

/** A button that keeps its place and its focus while it works: busy buttons stay focusable and ignore presses. */
export function Button(props: Props) {
  const { look = 'outline', size = 'normal', wide, busy = false, icon, children, className, onClick, ...rest } = props
  const names = ['button', `button--${look}`, size === 'small' && 'button--small', wide && 'button--wide', className]
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

/** A square button with a sign only; its label is what screen readers say and the tooltip shows. */
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
