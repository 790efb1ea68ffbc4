import { originOfAddress } from '@gatehouse/client'
import type { ComponentProps } from 'react'
import { t } from '../language/language.ts'
import { Field } from './field.tsx'

/** The origin, or null. Plain http counts only if this page was loaded over it. */
export function parseInstanceAddress(typed: string): string | null {
  return originOfAddress(typed, { allowHttp: location.protocol === 'http:' })
}

type Props = Pick<ComponentProps<typeof Field>, 'label' | 'name' | 'disabled' | 'onText'> & { value: string }

export function AddressField(field: Props) {
  return (
    <Field
      {...field}
      verbatim
      placeholder="chat.example"
      inputMode="url"
      problem={parseInstanceAddress(field.value) ? null : t('Enter an instance address, such as chat.example.')}
    />
  )
}
