import type { Peer } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { hostOf } from '../../parts/host-of.ts'
import { Moment } from '../../parts/moment.tsx'
import { Pill } from '../../parts/pill.tsx'

const tones = { active: 'good', pending: 'warning', revoked: 'bad' } as const

export function PeerRow({ peer, onChanged }: { peer: Peer; onChanged: () => void }) {
  const act = useAct()
  const announce = useAnnounce()
  const [asking, setAsking] = useState(false)
  const host = hostOf(peer.origin)
  const revoke = async () => {
    if (!(await act.run(() => client.api.peers.revoke(peer.id)))) return
    announce(`${host} is no longer a peer.`)
    setAsking(false)
    onChanged()
  }
  return (
    <li className="entry">
      <div>
        <h3>
          {host} <Pill tone={tones[peer.status]}>{peer.status}</Pill>
        </h3>
        <p className="small quiet">
          {peer.instanceName ? `${peer.instanceName} · ` : ''}
          since <Moment at={peer.activatedAt ?? peer.createdAt} />
        </p>
      </div>
      {peer.status !== 'revoked' && (
        <div className="entry__acts">
          <Button size="small" look="danger" aria-label={`Revoke ${host}`} onClick={() => setAsking(true)}>
            Revoke
          </Button>
        </div>
      )}
      {asking && (
        <ConfirmDialog
          title={`Revoke ${host}`}
          verb="Revoke"
          act={act}
          onConfirm={() => void revoke()}
          onClose={() => setAsking(false)}
        >
          <p>Signed requests between the two instances are refused from now on. Accounts stay as they are.</p>
        </ConfirmDialog>
      )}
    </li>
  )
}
