import '../styles/list-row.css'
import type { Invite } from '@gatehouse/client'
import type { ReactNode } from 'react'
import { t, type Text } from '../language/language.ts'
import { Phrase } from '../language/phrase.tsx'
import { UserName } from './avatar.tsx'
import { LinkField } from './copy-field.tsx'
import { Badge, type BadgeTone, RelativeTime } from './status.tsx'

const statuses: Record<Invite['status'], { tone: BadgeTone; label: Text }> = {
  active: { tone: 'good', label: 'active' },
  exhausted: { tone: 'neutral', label: 'used up' },
  expired: { tone: 'warning', label: 'expired' },
  revoked: { tone: 'bad', label: 'revoked' },
}

type Props = { invite: Invite; creator?: ReactNode; actions: ReactNode; children?: ReactNode }

/** `creator`: the account that created it, where the reader may be another account. Contract: 4, invites. */
export function InviteRow({ invite, creator, actions, children }: Props) {
  const { name } = invite
  const { tone, label } = statuses[invite.status]
  return (
    <li className="list-row list-row--tall">
      <div className="stack stack--tight">
        <h3>
          <UserName>{name}</UserName> <Badge tone={tone}>{t(label)}</Badge>
        </h3>
        <p className="small muted">
          {formatUses(invite)} · <Expiry invite={invite} /> · <Creation invite={invite} creator={creator} />
        </p>
      </div>
      {invite.status === 'active' && (
        <LinkField
          url={invite.url}
          name="invite-link"
          id={`invite-link-${invite.id}`}
          label={t('Link for {name}', { name })}
          copyLabel={t('Copy link for {name}', { name })}
        />
      )}
      <div className="list-row__actions">{actions}</div>
      {children}
    </li>
  )
}

function Expiry({ invite: { expiresAt, status } }: { invite: Invite }) {
  if (expiresAt === null) return <Phrase text="never expires" />
  const values = { time: <RelativeTime at={expiresAt} /> }
  return <Phrase text={status === 'expired' ? 'expired {time}' : 'expires {time}'} values={values} />
}

function Creation({ invite: { createdAt }, creator }: { invite: Invite; creator: ReactNode }) {
  const time = <RelativeTime at={createdAt} />
  if (!creator) return <Phrase text="created {time}" values={{ time }} />
  return <Phrase text="created {time} by {name}" values={{ time, name: creator }} />
}

function formatUses({ usedCount: used, maxUses: max }: Invite): string {
  if (max === null) return used === 1 ? t('Used once, no limit') : t('Used {used} times, no limit', { used })
  return max === 1 ? t('{used} of 1 use', { used }) : t('{used} of {max} uses', { used, max })
}
