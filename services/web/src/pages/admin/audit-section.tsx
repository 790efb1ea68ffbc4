import type { AuditEntry } from '@gatehouse/client'
import { Button } from '../../components/button.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { formatDateTime } from '../../components/format-time.ts'
import { EmptyState } from '../../components/notice.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { useClient } from '../../context.ts'
import { useInfiniteQuery } from '../../hooks/use-infinite-query.ts'
import { formatAuditEntry } from './format-audit-entry.ts'

/** The actions of admins, newest first. Contract: 5, audit. */
export function AuditSection() {
  const client = useClient()
  const query = useInfiniteQuery<AuditEntry>('audit', async (cursor, signal) => {
    const page = await client.api.admin.listAudit(cursor ? { cursor } : {}, { signal })
    return { items: page.entries, nextCursor: page.nextCursor }
  })
  return (
    <section className="stack" aria-label="Audit log">
      <h2 className="visually-hidden">Audit log</h2>
      <QueryError query={query} />
      {!query.items && query.loading && <ListSkeleton rows={6} />}
      {query.items?.length === 0 && (
        <EmptyState icon="info">
          <p>No entries yet.</p>
        </EmptyState>
      )}
      {query.items && query.items.length > 0 && (
        <ul className="card list">
          {query.items.map((entry) => (
            <AuditRow key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
      {query.fetchNextPage && (
        <Button busy={query.loading} onClick={query.fetchNextPage}>
          Show more
        </Button>
      )}
    </section>
  )
}

function AuditRow({ entry }: { entry: AuditEntry }) {
  const { action, target, details } = formatAuditEntry(entry)
  return (
    <li className="audit-entry">
      <time className="small muted tabular" dateTime={new Date(entry.createdAt).toISOString()}>
        {formatDateTime(entry.createdAt)}
      </time>
      <span>
        <strong>{entry.actorUsername ?? 'Unknown user'}</strong> {action} <strong>{target}</strong>
        {details && <code className="audit-entry__details">{details}</code>}
      </span>
    </li>
  )
}
