import type { ApprovalRequest } from '@gatehouse/client'
import { Button } from '../../components/button.tsx'
import { formatError } from '../../components/error-message.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { Phrase } from '../../language/phrase.tsx'
import { t } from '../../language/language.ts'

type Props = { requests: ApprovalRequest[]; onDecided: () => void }

/** The peering requests that wait for an admin: of other instances, and of users of this one. */
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
      <section key={direction} className="card card--highlighted" aria-labelledby={`${direction}-head`}>
        <div className="card__header">
          <h2 id={`${direction}-head`}>{title}</h2>
          <p>{text}</p>
        </div>
        <ul className="list">
          {group.map((request) => (
            <RequestRow key={request.id} request={request} onDecided={onDecided} />
          ))}
        </ul>
      </section>
    )
  })
}

function RequestRow({ request, onDecided }: { request: ApprovalRequest; onDecided: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const host = hostOf(request.origin)
  const decide = async (verdict: 'approve' | 'deny') => {
    const done = await mutation.run(() => client.call(`${verdict}Request`, { params: { id: request.id } }))
    if (done)
      showToast(
        verdict === 'approve'
          ? t('Approved: the peering with {host} starts.', { host })
          : t('Denied: {host}.', { host }),
      )
    onDecided()
  }
  return (
    <li className="list-row">
      <div>
        <h3>{host}</h3>
        <p className="small muted">
          {request.instanceName ? `${request.instanceName} · ` : ''}
          <Phrase
            text="requested {requested} · expires {expires}"
            values={{
              requested: <RelativeTime at={request.requestedAt} />,
              expires: <RelativeTime at={request.expiresAt} />,
            }}
          />
        </p>
        {mutation.error && (
          <p className="small instance__error" role="alert">
            {formatError(mutation.error)}
          </p>
        )}
      </div>
      <div className="list-row__actions">
        <Button
          size="small"
          variant="primary"
          busy={mutation.busy}
          aria-label={t('Approve {host}', { host })}
          onClick={() => void decide('approve')}
        >
          {t('Approve')}
        </Button>
        <Button
          size="small"
          disabled={mutation.busy}
          aria-label={t('Deny {host}', { host })}
          onClick={() => void decide('deny')}
        >
          {t('Deny')}
        </Button>
      </div>
    </li>
  )
}
