import { type SubmitEvent, useState } from 'react'
import { formatError } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { Button } from '../../components/button.tsx'
import { t, type Text } from '../../language/language.ts'
import { LogInInstead } from './account-step.tsx'
import type { InviteEntry } from './use-invite.ts'

/** Contract: 2, check-invite. One that was revoked is `invalid` too. */
const problems: Record<'expired' | 'exhausted' | 'invalid', Text> = {
  expired: 'This invite has expired. Ask for a new one.',
  exhausted: 'This invite has been used up. Ask for a new one.',
  invalid:
    'No invite of this instance has this link: a part of it is missing, or the invite was revoked. Ask for a new one.',
}

/** Before the form of an instance that is closed. */
export function InviteStep({ invite }: { invite: InviteEntry }) {
  const [text, setText] = useState(invite.token)
  const [isSubmitted, setSubmitted] = useState(false)
  const missing = isSubmitted && !text.trim() ? t('Paste your invite link to continue.') : null
  const isChecked = invite.check?.valid === false && text === invite.entered
  const problem = isChecked && invite.check?.valid === false ? t(problems[invite.check.reason]) : null
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (text.trim()) invite.enter(text)
  }
  return (
    <form className="stack stack--tight" noValidate onSubmit={submit}>
      <Notice>
        <p>
          <strong>{t('New accounts need an invite.')}</strong>{' '}
          {t('An admin of this instance can send you an invite link.')}
        </p>
      </Notice>
      <Field
        label={t('Invite link')}
        name="invite"
        verbatim
        value={text}
        onText={setText}
        error={missing ?? problem ?? (invite.error && formatError(invite.error))}
        hint={t('The whole link, or the code at its end.')}
      />
      <Button type="submit" variant="primary" wide busy={invite.checking}>
        {t('Continue')}
      </Button>
      <LogInInstead />
    </form>
  )
}
