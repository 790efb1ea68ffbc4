import { ApiError } from '@gatehouse/client'
import type { RefusalCode } from '@gatehouse/contracts'
import { useState } from 'react'
import { PasswordField } from '../../components/field.tsx'
import { useMutation } from '../../hooks.ts'
import { t, translateRefusal } from '../../language/language.ts'

const codes: ReadonlyArray<RefusalCode | 'other'> = [
  'password_incorrect',
  'current_password_incorrect',
  'account_deletion_password_incorrect',
]

/** The text of a refused password, or null. Another instance answers 401. */
export function describeRefusal(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  return error.status === 401 || codes.some((code) => code === error.code) ? translateRefusal(error) : null
}

type Options = { name: string; label?: string; isNeeded?: boolean }

/** A password that confirms an operation. A refusal is shown at the field. Federated accounts have no password here. */
export function usePassword({ name, label = t('Your password'), isNeeded = true }: Options) {
  const mutation = useMutation()
  const [value, setValue] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const isMissing = isNeeded && !value
  const refusal = describeRefusal(mutation.error)
  const field = isNeeded && (
    <PasswordField
      label={label}
      name={name}
      autoComplete="current-password"
      value={value}
      onText={(text) => (setValue(text), mutation.clear())}
      error={isSubmitted && isMissing ? t('Enter your password.') : refusal}
    />
  )
  return {
    value,
    field,
    isSubmitted,
    mutation: refusal === null ? mutation : { ...mutation, error: null },
    /** Called on submit. */
    check(): boolean {
      setSubmitted(true)
      return !isMissing
    },
  }
}
