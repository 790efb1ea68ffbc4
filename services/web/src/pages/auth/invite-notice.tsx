import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import type { InviteEntry } from './use-invite.ts'
import { t } from '../../language/language.ts'

const reasons = {
  expired: 'This invite has expired. Ask for a new one.',
  exhausted: 'This invite has been used up. Ask for a new one.',
  invalid: 'This invite is not valid. Check the link, or ask for a new one.',
} as const

type Props = { invite: InviteEntry; closed: boolean; submitted: boolean }

/** The valid invite, or the field for one. Only while registration is closed: an open instance ignores invites. */
export function InviteNotice({ invite, closed, submitted }: Props) {
  if (!closed) return null
  if (invite.check?.valid) {
    return (
      <Notice tone="good">
        <p>
          {t('You are invited:')} <strong>{invite.check.name}</strong>
        </p>
      </Notice>
    )
  }
  const problem = invite.check ? t(reasons[invite.check.reason]) : null
  return (
    <>
      <Notice>
        <p>
          <strong>{t('New accounts need an invite.')}</strong>{' '}
          {t('An admin of this instance can send you an invite link.')}
        </p>
      </Notice>
      <Field
        label={t('Invite link')}
        name="invite"
        autoComplete="off"
        spellCheck={false}
        defaultValue={invite.token}
        onChange={(event) => invite.enter(event.target.value)}
        error={problem ?? (submitted && !invite.checking ? t('Paste your invite link to continue.') : null)}
        hint={invite.checking ? t('Checking…') : t('The whole link, or the code at its end.')}
      />
    </>
  )
}
