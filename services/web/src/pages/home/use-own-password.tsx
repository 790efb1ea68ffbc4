import { ApiError, type User } from '@gatehouse/client'
import { useState } from 'react'
import { PasswordField } from '../../components/field.tsx'
import type { Mutation } from '../../hooks/use-mutation.ts'
import { t, translateRefusal } from '../../language/language.ts'

/**
 * The password of the own account, by which an operation is confirmed; a federated account has none here, and gets no
 * field. A refused password is shown at the field: `mutation` is the given one without that error.
 */
export function useOwnPassword(user: User, mutation: Mutation, name: string) {
  const [password, setPassword] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const isLocal = user.homeInstance === null
  const isMissing = isLocal && !password
  const refusal = describeRefusal(mutation.error)
  const field = isLocal && (
    <PasswordField
      label={t('Your password')}
      name={name}
      autoComplete="current-password"
      value={password}
      onChange={(event) => (setPassword(event.target.value), mutation.clear())}
      error={isSubmitted && isMissing ? t('Enter your password.') : refusal}
    />
  )
  return {
    password,
    field,
    mutation: refusal === null ? mutation : { ...mutation, error: null },
    /** To be called on submit: whether it can be sent. */
    submit(): boolean {
      setSubmitted(true)
      return !isMissing
    },
  }
}

/** The text of a 403, which is the refusal of a password. */
export function describeRefusal(error: unknown): string | null {
  return error instanceof ApiError && error.status === 403 ? translateRefusal(error) : null
}
