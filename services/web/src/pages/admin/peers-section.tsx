import type { Peer } from '@gatehouse/client'
import { useState, type FormEvent } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useLoad } from '../../hooks/use-load.ts'
import { ActProblem, limitedLabel } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { LoadProblem } from '../../parts/load-problem.tsx'
import { readOrigin } from '../../parts/read-origin.ts'
import { RowShimmer } from '../../parts/row-shimmer.tsx'
import { ApprovalRequests } from './approval-requests.tsx'
import { PeerRow } from './peer-row.tsx'

/** The instances this one trusts, those that ask to be, and the way to ask one. Contract: 7. */
export function PeersSection() {
  const load = useLoad('peers', async (signal) => {
    const [{ peers }, { requests }] = await Promise.all([
      client.api.peers.list({ signal }),
      client.api.peers.listApprovalRequests({ signal }),
    ])
    return { peers, waiting: requests.filter((request) => request.status === 'pending') }
  })
  if (!load.data) return load.error ? <LoadProblem load={load} /> : <RowShimmer rows={4} />
  const { peers, waiting } = load.data
  return (
    <div className="stack stack--loose">
      {waiting.length > 0 && <ApprovalRequests requests={waiting} onDecided={load.reload} />}
      <section className="wall" aria-labelledby="peers-head">
        <div className="wall__head">
          <h2 id="peers-head">Peers</h2>
          <p>People can delete their identities on peers from here, and password checks reach their home.</p>
        </div>
        <PeerForm onAsked={load.reload} />
        <LoadProblem load={load} />
        <PeerList peers={peers} onChanged={load.reload} />
      </section>
    </div>
  )
}

function PeerList({ peers, onChanged }: { peers: Peer[]; onChanged: () => void }) {
  if (peers.length === 0) {
    return (
      <Empty icon="link">
        <p>No peer yet. Enter the address of an instance to ask it.</p>
      </Empty>
    )
  }
  return (
    <ul className="rows">
      {peers.map((peer) => (
        <PeerRow key={peer.id} peer={peer} onChanged={onChanged} />
      ))}
    </ul>
  )
}

function PeerForm({ onAsked }: { onAsked: () => void }) {
  const act = useAct()
  const announce = useAnnounce()
  const [address, setAddress] = useState('')
  const [pressed, setPressed] = useState(false)
  const origin = readOrigin(address)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setPressed(true)
    if (!origin) return
    const done = await act.run(async () => {
      const { peer } = await client.api.peers.initiate(origin)
      announce(peer?.status === 'active' ? 'The instances are peers now.' : 'The other instance has been asked.')
    })
    onAsked()
    if (!done) return
    setAddress('')
    setPressed(false)
  }
  return (
    <form className="peer-form" noValidate onSubmit={(event) => void submit(event)}>
      <Field
        label="Address of an instance"
        placeholder="chat.example"
        inputMode="url"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        value={address}
        onChange={(event) => (setAddress(event.target.value), act.clear())}
        error={pressed && !origin ? 'Enter the address of an instance, like chat.example.' : null}
      />
      <Button type="submit" look="primary" busy={act.busy} aria-disabled={act.waitSeconds > 0}>
        {limitedLabel(act, 'Ask to peer')}
      </Button>
      {(act.error || act.waitSeconds > 0) && <ActProblem act={act} />}
    </form>
  )
}
