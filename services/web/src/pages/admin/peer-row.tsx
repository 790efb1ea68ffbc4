import type { Peer } from '@gatehouse/client'
import { useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { formatError } from '../../components/error-message.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { PeerActDialog, RotationDialog } from './peer-dialogs.tsx'
import { explainPeer, type PeerAct, peerStates } from './peer-states.ts'

const actLabels: Record<PeerAct, string> = {
  rotate: 'Secret…',
  recheck: 'Recheck',
  reset: 'Reset',
  revoke: 'Revoke',
  forget: 'Forget',
}

type Props = { peer: Peer; onChanged: () => void }

/** A peer with its state, the reason of it, and what an admin can do in this state. Contract: 7. */
export function PeerRow({ peer, onChanged }: Props) {
  const client = useClient()
  const recheck = useMutation()
  const showToast = useToast()
  const [openAct, setOpenAct] = useState<Exclude<PeerAct, 'recheck'> | null>(null)
  const host = hostOf(peer.origin)
  const state = peerStates[peer.status]
  const explanation = explainPeer(peer)
  const close = () => setOpenAct(null)
  const runRecheck = async () => {
    const done = await recheck.run(async () => {
      const { status } = (await client.api.peers.recheck(peer.id)).peer
      showToast(status === 'active' ? `${host} is active again.` : `${host}: still ${peerStates[status].label}.`)
    })
    if (done) onChanged()
  }
  return (
    <li className="list-row">
      <div>
        <h3>
          {host} <Badge tone={state.tone}>{state.label}</Badge>
        </h3>
        <p className="small muted">
          {peer.instanceName ? `${peer.instanceName} · ` : ''}
          since <RelativeTime at={peer.revokedAt ?? peer.activatedAt ?? peer.createdAt} />
          {peer.status === 'active' && peer.rotatedAt !== null && (
            <>
              {' '}
              · secret rotated <RelativeTime at={peer.rotatedAt} />, every {peer.autoRotateIntervalDays} days
            </>
          )}
        </p>
        {explanation && <p className="small">{explanation}</p>}
        {recheck.error && (
          <p className="small instance__error" role="alert">
            {formatError(recheck.error)}
          </p>
        )}
      </div>
      <div className="list-row__actions">
        {state.acts.map((act) => (
          <Button
            key={act}
            size="small"
            variant={act === 'revoke' ? 'danger' : 'outline'}
            busy={act === 'recheck' && recheck.busy}
            aria-label={act === 'rotate' ? `Secret of ${host}` : `${actLabels[act]} ${host}`}
            onClick={() => (act === 'recheck' ? void runRecheck() : setOpenAct(act))}
          >
            {actLabels[act]}
          </Button>
        ))}
      </div>
      {openAct === 'rotate' && <RotationDialog peer={peer} onClose={close} onChanged={onChanged} />}
      {openAct !== null && openAct !== 'rotate' && (
        <PeerActDialog act={openAct} peer={peer} onClose={close} onChanged={onChanged} />
      )}
    </li>
  )
}
