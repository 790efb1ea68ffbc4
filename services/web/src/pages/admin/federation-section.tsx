import type { ApprovalRequest, Client } from '@gatehouse/client'
import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { MutationError, QueryError, RowError, SubmitButton } from '../../components/error-message.tsx'
import { Form, useText } from '../../components/field.tsx'
import { hostOf } from '../../components/format.ts'
import { AddressField, parseInstanceAddress } from '../../components/instance-address.tsx'
import { Badge, RelativeTime } from '../../components/status.tsx'
import { useMutation, useQuery } from '../../hooks.ts'
import { t, translate } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { AdminList, type ListQuery, type Filter } from './admin-list.tsx'
import { PeerRow } from './peer-row.tsx'
import { isInTrouble, peerStates } from './peer-states.ts'

const pageSize = 20

const listFilters = (): readonly Filter[] => [
  { name: 'q', label: 'Search', type: 'text', placeholder: 'Name or address' },
  {
    name: 'status',
    label: 'Status',
    type: 'select',
    options: {
      '': t('All'),
      trouble: t('with problems'),
      ...Object.fromEntries(Object.entries(peerStates).map(([status, { label }]) => [status, t(label)])),
    },
  },
]

export function FederationSection() {
  const waiting = useQuery('requests', (signal, client) => client.call('listApprovalRequests', { signal }), 'peers')
  // The answer is all peers: a page of them is cut here.
  const fetchPage = async ({ q, status, cursor }: ListQuery, signal: AbortSignal, client: Client) => {
    const { peers } = await client.call('listPeers', { signal })
    const text = q?.toLowerCase() ?? ''
    const matching = peers.filter(
      (peer) =>
        `${hostOf(peer.origin)} ${peer.instanceName ?? ''}`.toLowerCase().includes(text) &&
        (!status || peer.status === status || (status === 'trouble' && isInTrouble(peer))),
    )
    const start = matching.findIndex(({ id }) => id === cursor) + 1
    const items = matching.slice(start, start + pageSize)
    const count = matching.length === 1 ? t('1 peer') : t('{count} peers', { count: matching.length })
    return { items, count, nextCursor: start + pageSize < matching.length ? (items.at(-1)?.id ?? null) : null }
  }
  return (
    <div className="stack stack--loose">
      <QueryError query={waiting} />
      {waiting.data && <ApprovalRequests requests={waiting.data.requests} onDecided={waiting.refetch} />}
      <Card
        title={t('Add a peer')}
        text="Peers are instances that trust each other: they verify each other’s users and delete accounts when asked to."
        action={
          <Link href="/admin/federation/orders" className="small">
            {t('Pending deletions on other instances')}
          </Link>
        }
      >
        <PeerForm onSent={waiting.refetch} />
      </Card>
      <AdminList
        title={t('Peers')}
        filters={listFilters()}
        fetchPage={fetchPage}
        watched="peers"
        icon="link"
        empty={(listQuery) =>
          Object.keys(listQuery).length > 0
            ? t('No peers found.')
            : t('No peers yet. Enter an instance’s address to send it a request.')
        }
      >
        {(peer, refetch) => <PeerRow key={peer.id} peer={peer} onChanged={refetch} />}
      </AdminList>
    </div>
  )
}

function PeerForm({ onSent }: { onSent: () => void }) {
  const mutation = useMutation()
  const address = useText('', mutation)
  const submit = async () => {
    const body = { remoteOrigin: parseInstanceAddress(address.value) ?? '' }
    const done = await mutation.run(
      (_, client) => client.call('initiatePeer', { body }),
      ({ peer }) => (peer.status === 'active' ? t('You’re now peers.') : t('Request sent.')),
    )
    onSent()
    if (done) address.onText('')
    return done !== null
  }
  return (
    <Form className="peer-form" onSubmit={submit}>
      <AddressField label={t('Instance address')} name="peer-address" {...address} />
      <SubmitButton mutation={mutation} text="Send request" />
      {(mutation.error || mutation.waitSeconds > 0) && <MutationError mutation={mutation} />}
    </Form>
  )
}

const directions = [
  [
    'inbound',
    'Requests from other instances',
    'These instances want to become peers. Only approve instances you trust.',
  ],
  [
    'outbound',
    'Requests from your users',
    'Your users have accounts on these instances. Approve to send a peering request.',
  ],
] as const

function ApprovalRequests({ requests, onDecided }: { requests: ApprovalRequest[]; onDecided: () => void }) {
  return directions.map(([direction, title, text]) => {
    const group = requests.filter((request) => request.direction === direction)
    if (group.length === 0) return null
    return (
      <Card key={direction} title={t(title)} text={text} highlighted>
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
  const mutation = useMutation()
  const host = hostOf(request.origin)
  const requested = <RelativeTime at={request.requestedAt} />
  const expires = <RelativeTime at={request.expiresAt} />
  const decide = async (verdict: 'approve' | 'deny', done: string) => {
    await mutation.run((_, client) => client.call(`${verdict}Request`, { params: { id: request.id } }), done)
    onDecided()
  }
  return (
    <li className="list-row">
      <div>
        <h3>{host}</h3>
        <p className="small muted">
          {request.instanceName && <UserName>{request.instanceName}</UserName>}
          {request.instanceName && ' · '}
          <Phrase text="requested {requested} · expires {expires}" values={{ requested, expires }} />
        </p>
        <RowError mutation={mutation} />
      </div>
      <div className="list-row__actions">
        <Button
          size="small"
          text="Approve"
          fullText="Approve {host}"
          values={{ host }}
          variant="primary"
          busy={mutation.busy}
          onClick={() => void decide('approve', t('Request from {host} approved.', { host }))}
        />
        <Button
          size="small"
          text="Deny"
          fullText="Deny {host}"
          values={{ host }}
          disabled={mutation.busy}
          onClick={() => void decide('deny', t('Request from {host} denied.', { host }))}
        />
      </div>
    </li>
  )
}

/** Waiting and overdue ones of all users. What a peer decided is not listed. Contract: 7, Deletion orders. */
export function OpenOrders() {
  return (
    <div className="stack">
      <Link href="/admin/federation" className="small">
        {t('All peers')}
      </Link>
      <p className="muted">
        {t('Deletions that users and admins requested. If an instance doesn’t respond, we keep asking it for 30 days.')}
      </p>
      <AdminList
        title={t('Pending deletions on other instances')}
        fetchPage={async (query, signal, client) => {
          const { orders, nextCursor } = await client.call('listOpenOrders', { query: { limit: 50, ...query }, signal })
          return { items: orders, nextCursor }
        }}
        empty={() => t('No pending deletions.')}
        icon="check"
      >
        {({ id, origin, userId, state, attempts, givenAt, error }) => (
          <li key={id} className="list-row">
            <div>
              <h3>
                {hostOf(origin)} {state === 'overdue' && <Badge tone="warning">{t('overdue')}</Badge>}
              </h3>
              <p className="small muted">
                <Phrase
                  text="user {userId} · requested {given} · attempts: {attempts}"
                  values={{
                    userId: <Link href={`/admin/users/${userId}`}>{userId}</Link>,
                    given: <RelativeTime at={givenAt} />,
                    attempts: String(attempts),
                  }}
                />
                {error && ` · ${translate(error)}`}
              </p>
            </div>
          </li>
        )}
      </AdminList>
    </div>
  )
}
