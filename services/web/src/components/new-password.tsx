import { limits } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import type { Mutation } from '../hooks.ts'
import { t } from '../language/language.ts'
import { findField, PasswordField } from './field.tsx'
import { findPasswordProblem } from './find-password-problem.ts'

export function useNewPassword(mutation: Mutation) {
  const [value, setValue] = useState('')
  const [again, setAgain] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const problem = findPasswordProblem(value)
  const mismatch = value === again ? null : t('The passwords do not match.')
  const fields = (
    <>
      <PasswordField
        label={t('New password')}
        name="new-password"
        autoComplete="new-password"
        hint={t('{count} characters or more.', { count: limits.passwordMinCodePoints })}
        value={value}
        onText={(text) => (setValue(text), mutation.clear())}
        error={isSubmitted ? problem : null}
      />
      <PasswordField
        label={t('New password again')}
        name="new-password-again"
        autoComplete="new-password"
        value={again}
        onText={(text) => (setAgain(text), mutation.clear())}
        error={isSubmitted ? mismatch : null}
        good={again && !mismatch ? t('The passwords match.') : null}
      />
    </>
  )
  /** Called on submit. A wrong field takes the focus. */
  const check = (form: Element): boolean => {
    setSubmitted(true)
    const wrong = problem ? 'new-password' : mismatch && 'new-password-again'
    if (wrong) findField(form, wrong)?.focus()
    return !wrong
  }
  const reset = () => (setValue(''), setAgain(''), setSubmitted(false))
  return { value, fields, check, reset }
}
