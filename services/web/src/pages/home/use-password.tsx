import { ApiError } from '@gatehouse/client'
import type { RefusalCode } from '@gatehouse/contracts'
import { CodeField, PasswordField, useText } from '../../components/field.tsx'
import { type Mutation, useClient, useMutation, useStore } from '../../hooks.ts'
import { t, translateRefusal } from '../../language/language.ts'
import { useProviderConfirmation } from './provider-confirmation.tsx'

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

type OwnOptions = Omit<Options, 'name' | 'isNeeded'>

/** `proof`: for the body of what it confirms. Federated accounts have no password here, and need none. */
export function useOwnPassword(name: string, options: OwnOptions = {}) {
  const { user } = useStore(useClient().session)
  const isLocal = user?.homeInstance === null
  const isByProvider = isLocal && user.hasPassword === false
  const password = usePassword({ ...options, name, isNeeded: isLocal && !isByProvider })
  const { mutation } = password
  const provider = useProviderConfirmation(name, mutation)
  if (!isByProvider) return { ...password, proof: { password: password.value }, isConfirmed: true, isByProvider }
  const { ticket, field, reset } = provider
  return { proof: { ticket: ticket ?? '' }, isConfirmed: ticket !== null, isByProvider, field, mutation, reset }
}

export function useCode(name: string, mutation: Mutation) {
  const { input, ...confirmation } = useConfirmation(mutation, {
    missing: t('Enter the code from your authenticator app.'),
    isMissing: (value) => !value.trim(),
    isRefusal: (error) => error.code === 'second_factor_incorrect',
  })
  return { ...confirmation, field: <CodeField name={name} {...input} /> }
}

export function usePasswordAndCode(name: string) {
  const password = useOwnPassword(`${name}-password`)
  const code = useCode(`${name}-code`, password.mutation)
  const field = (
    <>
      {password.field}
      {password.isConfirmed && code.field}
    </>
  )
  return { body: { ...password.proof, code: code.value }, field, mutation: code.mutation }
}
