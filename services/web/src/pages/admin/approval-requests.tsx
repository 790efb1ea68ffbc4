import type { ApprovalRequest } from '@gatehouse/client'
import { hostOf } from '../../components/format.ts'
import { UserName } from '../../components/avatar.tsx'
import { RowButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { RowError } from '../../components/error-message.tsx'
import { RelativeTime } from '../../components/status.tsx'
import { useClient, useMutation } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'

type Props = { requests: ApprovalRequest[]; onDecided: () => void }

export function ApprovalRequests({ requests, onDecided }: Props) {
  const groups = [
    ['inbound', t('Requests from other instances'), t('They ask to become peers. Approve only those that you trust.')],
    [
      'outbound',
      t('Requests from your users'),
      t('Users have accounts on these instances. Approve to offer them a peering.'),
    ],
  ] as const
  return groups.map(([direction, title, text]) => {
    const group = requests.filter((request) => request.direction === direction)
    if (group.length === 0) return null
    return (
      <Card key={direction} title={title} text={text} highlighted>
        <ul className="list">
          {group.map((request) => (
            <RequestRow key={request.id} request={request} onDecided={onDecided} />
          ))}
        </ul>
      </Card>
    )
  })
}

function RequestRow({ request, onDecided }: { request: ApprovalRequest; onDecided: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const host = hostOf(request.origin)
  const decide = async (verdict: 'approve' | 'deny', done: string) => {
    await mutation.run(() => client.call(`${verdict}Request`, { params: { id: request.id } }), done)
    onDecided()
  }
  return (
    <li className="list-row">
      <div>
        <h3>{host}</h3>
        <p className="small muted">
          {request.instanceName && <UserName>{request.instanceName}</UserName>}
          {request.instanceName && ' · '}
          <Phrase
            text="requested {requested} · expires {expires}"
            values={{
              requested: <RelativeTime at={request.requestedAt} />,
              expires: <RelativeTime at={request.expiresAt} />,
            }}
          />
        </p>
        <RowError mutation={mutation} />
      </div>
      <div className="list-row__actions">
        <RowButton
          text="Approve"
          fullText="Approve {host}"
          values={{ host }}
          variant="primary"
          busy={mutation.busy}
          onClick={() => void decide('approve', t('Approved: the peering with {host} starts.', { host }))}
        />
        <RowButton
          text="Deny"
          fullText="Deny {host}"
          values={{ host }}
          disabled={mutation.busy}
          onClick={() => void decide('deny', t('Denied: {host}.', { host }))}
        />
      </div>
    </li>
  )
}
