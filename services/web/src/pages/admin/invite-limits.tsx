import { useState } from 'react'
import { Field } from '../../parts/field.tsx'
import { fromLocalInput, toLocalInput } from '../../parts/say-moment.ts'

type Limits = { maxUses: number | null; expiresAt: number | null }

/** The two limits of an invite as a person types them; empty means none. */
export function useInviteLimits(start: Limits) {
  const [uses, setUses] = useState(start.maxUses === null ? '' : String(start.maxUses))
  const [expiry, setExpiry] = useState(start.expiresAt === null ? '' : toLocalInput(start.expiresAt))
  const problem = uses.trim() !== '' && !/^[1-9]\d{0,8}$/.test(uses.trim()) ? 'Enter a whole number, 1 or more.' : null
  return {
    uses,
    setUses,
    expiry,
    setExpiry,
    problem,
    values: { maxUses: uses.trim() === '' ? null : Number(uses), expiresAt: fromLocalInput(expiry) } satisfies Limits,
  }
}

export function InviteLimitFields({
  limits,
  pressed,
}: {
  limits: ReturnType<typeof useInviteLimits>
  pressed: boolean
}) {
  return (
    <div className="split">
      <Field
        label="Uses"
        optional
        inputMode="numeric"
        autoComplete="off"
        value={limits.uses}
        onChange={(event) => limits.setUses(event.target.value)}
        error={pressed ? limits.problem : null}
        hint="Empty: any number."
      />
      <Field
        label="Expires"
        optional
        type="datetime-local"
        value={limits.expiry}
        onChange={(event) => limits.setExpiry(event.target.value)}
        hint="Empty: never."
      />
    </div>
  )
}
