import { limits } from '@gatehouse/contracts/constants'
import type { Mutation } from '../hooks.ts'
import { t } from '../language/language.ts'
import { PasswordField, useText } from './field.tsx'
import { findPasswordProblem } from './find-password-problem.ts'

export function useNewPassword(mutation: Mutation) {
  const password = useText('', mutation)
  const again = useText('', mutation)
  const isRepeated = password.value === again.value
  const fields = (
    <>
      <PasswordField
        label={t('New password')}
        name="new-password"
        autoComplete="new-password"
        hint={t('At least {count} characters.', { count: limits.passwordMinCodePoints })}
        {...password}
        problem={findPasswordProblem(password.value)}
      />
      <PasswordField
        label={t('Confirm new password')}
        name="new-password-again"
        autoComplete="new-password"
        {...again}
        problem={isRepeated ? null : t('The passwords don’t match.')}
        good={again.value && isRepeated ? t('The passwords match.') : null}
      />
    </>
  )
  const reset = () => {
    password.onText('')
    again.onText('')
  }
  return { value: password.value, fields, reset }
}
