import { type SubmitEvent, useState } from 'react'
import { Card } from '../../components/card.tsx'
import { MutationError, QueryError, SubmitButton } from '../../components/error-message.tsx'
import { AddressField, parseInstanceAddress } from '../../components/instance-address.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { hostOf } from '../../components/format.ts'
import { Badge, RelativeTime, Skeleton } from '../../components/status.tsx'
import { useClient, useMutation, usePages, useQuery, useToast } from '../../hooks.ts'
import { t, translate } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { ApprovalRequests } from './approval-requests.tsx'
import { PeerRow } from './peer-row.tsx'

/** Contract: 7. */
export function FederationSection() {
  const client = useClient()
  const fetchBoth = async (signal: AbortSignal) => {
    const [{ peers }, { requests }] = await Promise.all([
      client.call('listPeers', { signal }),
      client.call('listApprovalRequests', { signal }),
    ])
    return { peers, requests }
  }
  const query = useQuery('peers', fetchBoth, 'peers')
  if (!query.data) return query.error ? <QueryError query={query} /> : <Skeleton />
  const { peers, requests } = query.data
  return (
    <div className="stack stack--loose">
      <ApprovalRequests requests={requests} onDecided={query.refetch} />
      <Card
        title={t('Peers')}
        text={t(
          'Instances that this one trusts. They check passwords with each other and delete identities on request.',
        )}
      >
        <PeerForm onSent={query.refetch} />
        <QueryList
          query={query}
          items={peers}
          empty={t('No peers yet. Enter the address of an instance to send it a request.')}
          className="list"
        >
          {(peer) => <PeerRow key={peer.id} peer={peer} onChanged={query.refetch} />}
        </QueryList>
      </Card>
      <OpenOrders />
    </div>
  )
}

/** Contract: 7, Deletion orders. */
function OpenOrders() {
  const client = useClient()
  const pages = usePages('orders', async (query, signal) => {
    const { orders, nextCursor } = await client.call('listOpenOrders', { query, signal })
    return { items: orders, nextCursor }
  })
  if (!pages.items?.length) return null
  return (
    <Card
      title={t('Deletions that wait for other instances')}
      text={t('Users ordered them. An instance that does not answer is asked for 30 days.')}
    >
      <QueryList {...pages} query={pages} empty="" className="list">
        {({ id, origin, userId, state, attempts, givenAt, error }) => (
          <li key={id} className="list-row">
            <div>
              <h3>
                {hostOf(origin)} {state === 'overdue' && <Badge tone="warning">{t('overdue')}</Badge>}
              </h3>
              <p className="small muted">
                <Phrase
                  text="user {userId} · ordered {given} · attempts: {attempts}"
                  values={{ userId, given: <RelativeTime at={givenAt} />, attempts: String(attempts) }}
                />
                {error && ` · ${translate(error)}`}
              </p>
            </div>
          </li>
        )}
      </QueryList>
    </Card>
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
      <AddressField
        label={t('Address of an instance')}
        name="peer-address"
        value={address}
        submitted={submitted}
        onText={(text) => (setAddress(text), mutation.clear())}
      />
      <SubmitButton mutation={mutation}>{t('Send request')}</SubmitButton>
      {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
    </form>
  )
}
