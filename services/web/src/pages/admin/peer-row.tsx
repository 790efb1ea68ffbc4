import type { Peer } from '@gatehouse/client'
import { useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { hostOf } from '../../components/instance-address.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useMutation } from '../../hooks/use-mutation.ts'

const tones = { active: 'good', pending: 'warning', revoked: 'bad' } as const

export function PeerRow({ peer, onChanged }: { peer: Peer; onChanged: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [confirming, setConfirming] = useState(false)
  const host = hostOf(peer.origin)
  const revoke = async () => {
    if (!(await mutation.run(() => client.api.peers.revoke(peer.id)))) return
    showToast(`${host} is no longer a peer.`)
    setConfirming(false)
    onChanged()
  }
  return (
    <li className="list-row">
      <div>
        <h3>
          {host} <Badge tone={tones[peer.status]}>{peer.status}</Badge>
        </h3>
        <p className="small muted">
          {peer.instanceName ? `${peer.instanceName} · ` : ''}
          since <RelativeTime at={peer.activatedAt ?? peer.createdAt} />
        </p>
      </div>
      {peer.status !== 'revoked' && (
        <div className="list-row__actions">
          <Button size="small" variant="danger" aria-label={`Revoke ${host}`} onClick={() => setConfirming(true)}>
            Revoke
          </Button>
        </div>
      )}
      {confirming && (
        <ConfirmDialog
          title={`Revoke ${host}`}
          confirmLabel="Revoke"
          mutation={mutation}
          onConfirm={() => void revoke()}
          onClose={() => setConfirming(false)}
        >
          <p>The two instances refuse each other’s requests from now on. Accounts are not changed.</p>
        </ConfirmDialog>
      )}
    </li>
  )
}
