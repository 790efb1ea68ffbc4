import type { ApprovalRequest } from '@gatehouse/client'
import { Button } from '../../components/button.tsx'
import { formatError } from '../../components/error-message.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'

/** The pending peering requests of other instances. */
export function ApprovalRequests({ requests, onDecided }: { requests: ApprovalRequest[]; onDecided: () => void }) {
  return (
    <section className="card card--highlighted" aria-labelledby="requests-head">
      <div className="card__header">
        <h2 id="requests-head">Requests</h2>
        <p>These instances ask to become peers of this one. Approve only those that you trust.</p>
      </div>
      <ul className="list">
        {requests.map((request) => (
          <RequestRow key={request.id} request={request} onDecided={onDecided} />
        ))}
      </ul>
    </section>
  )
}

function RequestRow({ request, onDecided }: { request: ApprovalRequest; onDecided: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const host = hostOf(request.sourceOrigin)
  const decide = async (verdict: 'approve' | 'deny') => {
    if (!(await mutation.run(() => client.api.peers[verdict](request.id)))) return
    showToast(verdict === 'approve' ? `Approved: ${host} is now a peer.` : `Denied the request of ${host}.`)
    onDecided()
  }
  return (
    <li className="list-row">
      <div>
        <h3>{host}</h3>
        <p className="small muted">
          {request.instanceName ? `${request.instanceName} · ` : ''}requested <RelativeTime at={request.createdAt} />
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
          aria-label={`Approve ${host}`}
          onClick={() => void decide('approve')}
        >
          Approve
        </Button>
        <Button size="small" disabled={mutation.busy} aria-label={`Deny ${host}`} onClick={() => void decide('deny')}>
          Deny
        </Button>
      </div>
    </li>
  )
}
