import { limits } from '@gatehouse/contracts/constants'
import { Field } from '../../components/field.tsx'
import { t } from '../../language/language.ts'

type Props = { value: string; onText: (text: string) => void; isRequired: boolean; error?: string | null }

export function ReasonField({ value, onText, isRequired, error }: Props) {
  return (
    <Field
      isLong
      label={t('Why do you want to join?')}
      name="reason"
      optional={!isRequired}
      maxLength={limits.registrationReasonMax}
      hint={t('An admin reads this and decides whether to approve your account.')}
      problem={isRequired && !value.trim() && t('Tell the admins why you want to join.')}
      value={value}
      onText={onText}
      error={error}
    />
  )
}
