import type { ApprovalRequest } from '@gatehouse/client'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { hostOf } from '../../parts/host-of.ts'
import { Moment } from '../../parts/moment.tsx'
import { sayProblem } from '../../parts/say-problem.ts'

/** The instances that wait for an answer. */
export function ApprovalRequests({ requests, onDecided }: { requests: ApprovalRequest[]; onDecided: () => void }) {
  return (
    <section className="wall wall--lit" aria-labelledby="requests-head">
      <div className="wall__head">
        <h2 id="requests-head">At the gate</h2>
        <p>These instances ask to become peers.</p>
      </div>
      <ul className="rows">
        {requests.map((request) => (
          <RequestRow key={request.id} request={request} onDecided={onDecided} />
        ))}
      </ul>
    </section>
  )
}

function RequestRow({ request, onDecided }: { request: ApprovalRequest; onDecided: () => void }) {
  const act = useAct()
  const announce = useAnnounce()
  const host = hostOf(request.sourceOrigin)
  const decide = async (verdict: 'approve' | 'deny') => {
    if (!(await act.run(() => client.api.peers[verdict](request.id)))) return
    announce(verdict === 'approve' ? `${host} was let in.` : `${host} was turned away.`)
    onDecided()
  }
  return (
    <li className="entry">
      <div>
        <h3>{host}</h3>
        <p className="small quiet">
          {request.instanceName ? `${request.instanceName} · ` : ''}asked <Moment at={request.createdAt} />
        </p>
        {act.error && (
          <p className="small instance__problem" role="alert">
            {sayProblem(act.error)}
          </p>
        )}
      </div>
      <div className="entry__acts">
        <Button
          size="small"
          look="primary"
          busy={act.busy}
          aria-label={`Approve ${host}`}
          onClick={() => void decide('approve')}
        >
          Approve
        </Button>
        <Button size="small" disabled={act.busy} aria-label={`Deny ${host}`} onClick={() => void decide('deny')}>
          Deny
        </Button>
      </div>
    </li>
  )
}
