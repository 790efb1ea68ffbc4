import { useId, type TextareaHTMLAttributes } from 'react'
import { FieldLabel, FieldLine, type FieldWords } from './field.tsx'

type Props = FieldWords & TextareaHTMLAttributes<HTMLTextAreaElement> & { left?: number }

/** Text of several lines; `left` counts the characters that may still come. */
export function TextArea({ label, optional, hint, error, left, ...area }: Props) {
  const id = useId()
  return (
    <div className="field">
      <FieldLabel htmlFor={id} label={label} optional={optional} />
      <textarea
        {...area}
        id={id}
        className="input"
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-line`}
      />
      <FieldLine
        id={`${id}-line`}
        label={label}
        hint={hint}
        error={error ?? null}
        aside={left !== undefined && <span className="number">{left}</span>}
      />
    </div>
  )
}
