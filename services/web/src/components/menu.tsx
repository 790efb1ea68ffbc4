import { type ReactNode, useId } from 'react'
import { t, type Text, type Values } from '../language/language.ts'
import '../styles/menu.css'
import { IconButton } from './button.tsx'

type MenuProps = { label: string; face?: ReactNode; children: ReactNode }

/** A button that opens a list of acts. The browser closes it on Escape and on a click beside it. */
export function Menu({ label, face, children }: MenuProps) {
  const id = useId()
  return (
    <>
      <IconButton label={label} popoverTarget={id}>
        {face}
      </IconButton>
      <div id={id} popover="auto" className="menu" role="group" aria-label={label}>
        {children}
      </div>
    </>
  )
}

type ItemProps = {
  text: Text
  /** For screen readers, where several menus have the same act. */
  fullText?: Text
  values?: Values
  dangerous?: boolean
  disabled?: boolean
  onClick: () => void
}

export function MenuItem({ text, fullText = text, values, dangerous, disabled, onClick }: ItemProps) {
  return (
    <button
      type="button"
      className={dangerous ? 'menu__item menu__item--dangerous' : 'menu__item'}
      aria-label={t(fullText, values)}
      aria-disabled={disabled || undefined}
      onClick={(event) => {
        if (disabled) return
        // The focus goes back to the button that opened the menu, and from a dialog to it again.
        event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()
        onClick()
      }}
    >
      {t(text)}
    </button>
  )
}
