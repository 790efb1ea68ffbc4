import { useId } from 'react'

type Props = { label: string; hint: string; on: boolean; disabled?: boolean; onChange: (on: boolean) => void }

export function Switch({ label, hint, on, disabled, onChange }: Props) {
  const id = useId()
  return (
    <button
      type="button"
      role="switch"
      className="switch"
      aria-checked={on}
      aria-labelledby={`${id}-name`}
      aria-describedby={`${id}-hint`}
      disabled={disabled}
      onClick={() => onChange(!on)}
    >
      <span id={`${id}-name`} className="switch__name">
        {label}
      </span>
      <span id={`${id}-hint`} className="switch__hint">
        {hint}
      </span>
      <span className="switch__track" aria-hidden="true" />
    </button>
  )
}
