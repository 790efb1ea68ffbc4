import { type ReactNode, useId } from 'react'

type CardProps = {
  title: string
  text?: ReactNode
  /** Beside the title. */
  action?: ReactNode
  highlighted?: boolean
  children?: ReactNode
}

/** A part of a page, named by its title. */
export function Card({ title, text, action, highlighted = false, children }: CardProps) {
  const id = useId()
  return (
    <section className={highlighted ? 'card card--highlighted' : 'card'} aria-labelledby={id}>
      <div className="card__header">
        <h2 id={id}>{title}</h2>
        {action}
        {text && <p>{text}</p>}
      </div>
      {children}
    </section>
  )
}

type ActionRowProps = { title: string; text: string; className?: string; children: ReactNode }

/** What can be done, explained, with its button. */
export function ActionRow({ title, text, className = '', children }: ActionRowProps) {
  return (
    <div className={`action-row ${className}`}>
      <span>
        <strong>{title}</strong>
        <span className="muted">{text}</span>
      </span>
      {children}
    </div>
  )
}
