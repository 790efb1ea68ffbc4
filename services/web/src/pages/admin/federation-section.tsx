import type { Peer } from '@gatehouse/client'
import { type SubmitEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { MutationError, QueryError, submitLabel } from '../../components/error-message.tsx'
import { Field } from '../../components/field.tsx'
import { parseInstanceAddress } from '../../components/instance-address.ts'
import { EmptyState } from '../../components/notice.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { useToast } from '../../components/toaster.tsx'
import { useClient } from '../../context.ts'
import { useAdminChanges } from '../../hooks/use-admin-changes.ts'
import { useMutation } from '../../hooks/use-mutation.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { ApprovalRequests } from './approval-requests.tsx'
import { PeerRow } from './peer-row.tsx'
import { t } from '../../language/language.ts'

/** The peers of this instance, the requests that wait, and a form to send one. Contract: 7. */
export function FederationSection() {
  const client = useClient()
  const query = useQuery('peers', async (signal) => {
    const [{ peers }, { requests }] = await Promise.all([
      client.call('listPeers', { signal }),
      client.call('listApprovalRequests', { signal }),
    ])
    return { peers, requests }
  })
  useAdminChanges('peers', query.refetch)
  if (!query.data) return query.error ? <QueryError query={query} /> : <ListSkeleton rows={4} />
  const { peers, requests } = query.data
  return (
    <div className="stack stack--loose">
      <ApprovalRequests requests={requests} onDecided={query.refetch} />
      <section className="card" aria-labelledby="peers-head">
        <div className="card__header">
          <h2 id="peers-head">{t('Peers')}</h2>
          <p>
            {t(
              'Instances that this one trusts. They check passwords with each other and delete identities on request.',
            )}
          </p>
        </div>
        <PeerForm onSent={query.refetch} />
        <QueryError query={query} />
        <PeerList peers={peers} onChanged={query.refetch} />
      </section>
    </div>
  )
}

function PeerList({ peers, onChanged }: { peers: Peer[]; onChanged: () => void }) {
  if (peers.length === 0) {
    return (
      <EmptyState icon="link">
        <p>{t('No peers yet. Enter the address of an instance to send it a request.')}</p>
      </EmptyState>
    )
  }
  return (
    <ul className="list">
      {peers.map((peer) => (
        <PeerRow key={peer.id} peer={peer} onChanged={onChanged} />
      ))}
    </ul>
  )
}

function PeerForm({ onSent }: { onSent: () => void }) {
  const client = useClient()
  const mutation = useMutation()
  const showToast = useToast()
  const [address, setAddress] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const origin = parseInstanceAddress(address)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (!origin) return
    const done = await mutation.run(async () => {
      const { peer } = await client.call('initiatePeer', { body: { remoteOrigin: origin } })
      showToast(peer.status === 'active' ? t('The instances are now peers.') : t('Request sent.'))
    })
    onSent()
    if (!done) return
    setAddress('')
    setSubmitted(false)
  }
  return (
    <form className="peer-form" noValidate onSubmit={(event) => void submit(event)}>
      <Field
        label={t('Address of an instance')}
        name="peer-address"
        placeholder="chat.example"
        inputMode="url"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        value={address}
        onChange={(event) => (setAddress(event.target.value), mutation.clear())}
        error={submitted && !origin ? t('Enter the address of an instance, like chat.example.') : null}
      />
      <Button type="submit" variant="primary" busy={mutation.busy} aria-disabled={mutation.waitSeconds > 0}>
        {submitLabel(mutation, t('Send request'))}
      </Button>
      {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
    </form>
  )
}
