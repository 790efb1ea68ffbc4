import { type ReactNode, useId } from 'react'
import { t, type Text, type Values } from '../language/language.ts'

type CardProps = {
  title: string
  text?: Text
  values?: Values
  action?: ReactNode
  highlighted?: boolean
  children?: ReactNode
}

export function Card({ title, text, values, action, highlighted = false, children }: CardProps) {
  const id = useId()
  return (
    <section className={highlighted ? 'card card--highlighted' : 'card'} aria-labelledby={id}>
      <div className="card__header">
        <h2 id={id}>{title}</h2>
        {action}
        {text && <p>{t(text, values)}</p>}
      </div>
      {children}
    </section>
  )
}

type ActionRowProps = { title: ReactNode; text: string; className?: string; children: ReactNode }

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
