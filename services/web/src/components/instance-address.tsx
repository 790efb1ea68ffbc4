import { originOfAddress } from '@gatehouse/client'
import { t } from '../language/language.ts'
import { Field } from './field.tsx'

/** The origin, or null. Plain http counts only if this page was loaded over it. */
export function parseInstanceAddress(typed: string): string | null {
  return originOfAddress(typed, { allowHttp: location.protocol === 'http:' })
}

type Props = {
  label: string
  name: string
  value: string
  disabled?: boolean
  submitted: boolean
  onText: (text: string) => void
}

export function AddressField({ submitted, ...field }: Props) {
  const missing = submitted && !parseInstanceAddress(field.value)
  return (
    <Field
      {...field}
      verbatim
      placeholder="chat.example"
      inputMode="url"
      error={missing ? t('Enter the address of an instance, like chat.example.') : null}
    />
  )
}
