import type { AvailabilityState } from '@gatehouse/client'
import { Field } from '../../parts/field.tsx'
import { sayProblem } from '../../parts/say-problem.ts'

type Props = {
  value: string
  availability: AvailabilityState
  error: string | null
  onType: (username: string) => void
}

/** The username with the answer to whether it is free, a moment after the last key. */
export function UsernameField({ value, availability, error, onType }: Props) {
  const taken = availability.status === 'unavailable' ? availability.reason : null
  const unknown = availability.status === 'failed' ? sayProblem(availability.error) : null
  return (
    <Field
      label="Username"
      name="username"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      maxLength={40}
      value={value}
      onChange={(event) => onType(event.target.value)}
      error={error ?? taken}
      good={availability.status === 'available' ? `${availability.username} is free.` : null}
      hint={availability.status === 'checking' ? 'Looking…' : (unknown ?? '3 to 32 letters, digits or underscores.')}
    />
  )
}
