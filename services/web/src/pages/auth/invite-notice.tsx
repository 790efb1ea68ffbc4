import { Field } from '../../parts/field.tsx'
import { Notice } from '../../parts/notice.tsx'
import type { InviteEntry } from './use-invite.ts'

const reasons = {
  expired: 'This invite has expired. Ask for a new one.',
  exhausted: 'This invite has been used up. Ask for a new one.',
  invalid: 'This invite is not valid. Check the link, or ask for a new one.',
} as const

type Props = { invite: InviteEntry; closed: boolean; pressed: boolean }

/** What an invite opens, or what a closed instance asks for. An open instance needs none and says nothing. */
export function InviteNotice({ invite, closed, pressed }: Props) {
  if (!closed) return null
  if (invite.check?.valid) {
    return (
      <Notice tone="good">
        <p>
          You are invited: <strong>{invite.check.name}</strong>
        </p>
      </Notice>
    )
  }
  const problem = invite.check ? reasons[invite.check.reason] : null
  return (
    <>
      <Notice>
        <p>
          <strong>New accounts need an invite.</strong> Someone who runs this instance can send you a link.
        </p>
      </Notice>
      <Field
        label="Invite link"
        name="invite"
        autoComplete="off"
        spellCheck={false}
        defaultValue={invite.token}
        onChange={(event) => invite.enter(event.target.value)}
        error={problem ?? (pressed && !invite.checking ? 'Paste your invite link to go on.' : null)}
        hint={invite.checking ? 'Looking…' : 'The whole link, or the code at its end.'}
      />
    </>
  )
}
