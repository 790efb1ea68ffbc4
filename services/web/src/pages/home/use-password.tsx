import { ApiError, type User } from '@gatehouse/client'
import type { RefusalCode } from '@gatehouse/contracts'
import { CodeField, PasswordField, useText } from '../../components/field.tsx'
import { type Mutation, useMutation } from '../../hooks.ts'
import { t, translateRefusal } from '../../language/language.ts'

type Rules = { missing: string; isMissing: (value: string) => boolean; isRefusal: (error: ApiError) => boolean }

/** What confirms an operation. A refusal is shown at its field. */
function useConfirmation(mutation: Mutation, { missing, isMissing, isRefusal }: Rules) {
  const text = useText('', mutation)
  const { error } = mutation
  const refusal = error instanceof ApiError && isRefusal(error) ? translateRefusal(error) : null
  return {
    value: text.value,
    input: { ...text, problem: isMissing(text.value) ? missing : null, error: refusal },
    mutation: refusal ? { ...mutation, error: null } : mutation,
    reset: () => text.onText(''),
  }
}

const codes: ReadonlyArray<RefusalCode | 'other'> = [
  'password_incorrect',
  'current_password_incorrect',
  'account_deletion_password_incorrect',
]

type Options = { name: string; label?: string; missing?: string; isNeeded?: boolean }

/** Federated accounts have no password here. */
export function usePassword({ name, label = t('Your password'), isNeeded = true, ...options }: Options) {
  const { input, ...confirmation } = useConfirmation(useMutation(), {
    missing: t('Enter your password.'),
    ...options,
    isMissing: (value) => isNeeded && !value,
    // Another instance answers 401.
    isRefusal: (error) => error.status === 401 || codes.some((code) => code === error.code),
  })
  const field = isNeeded && <PasswordField label={label} name={name} autoComplete="current-password" {...input} />
  return { ...confirmation, field }
}

export const useOwnPassword = (user: User, name: string) => usePassword({ name, isNeeded: user.homeInstance === null })

export function useCode(name: string, mutation: Mutation) {
  const { input, ...confirmation } = useConfirmation(mutation, {
    missing: t('Enter the code from your authenticator app.'),
    isMissing: (value) => !value.trim(),
    isRefusal: (error) => error.code === 'second_factor_incorrect',
  })
  return { ...confirmation, field: <CodeField name={name} {...input} /> }
}

export function usePasswordAndCode(name: string) {
  const password = usePassword({ name: `${name}-password` })
  const code = useCode(`${name}-code`, password.mutation)
  const field = (
    <>
      {password.field}
      {code.field}
    </>
  )
  return { body: { password: password.value, code: code.value }, field, mutation: code.mutation }
}
