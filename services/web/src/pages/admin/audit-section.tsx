import type { AuditEntry } from '@gatehouse/client'
import { Button } from '../../components/button.tsx'
import { QueryError } from '../../components/error-message.tsx'
import { formatDateTime } from '../../components/format-time.ts'
import { EmptyState } from '../../components/notice.tsx'
import { ListSkeleton } from '../../components/skeleton.tsx'
import { useClient } from '../../context.ts'
import { useAdminChanges } from '../../hooks/use-admin-changes.ts'
import { useInfiniteQuery } from '../../hooks/use-infinite-query.ts'
import { formatAuditEntry } from './format-audit-entry.ts'
import { Phrase } from '../../language/phrase.tsx'
import type { Text } from '../../language/language.ts'
import { t } from '../../language/language.ts'

/** The actions of admins, newest first. Contract: 5, audit. */
export function AuditSection() {
  const client = useClient()
  const query = useInfiniteQuery<AuditEntry>('audit', async (cursor, signal) => {
    const page = await client.call('listAudit', { query: cursor ? { cursor } : {}, signal })
    return { items: page.entries, nextCursor: page.nextCursor }
  })
  useAdminChanges(null, query.refetch)
  return (
    <section className="stack" aria-label={t('Audit log')}>
      <h2 className="visually-hidden">{t('Audit log')}</h2>
      <QueryError query={query} />
      {!query.items && query.loading && <ListSkeleton rows={6} />}
      {query.items?.length === 0 && (
        <EmptyState icon="info">
          <p>{t('No entries yet.')}</p>
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
          {t('Show more')}
        </Button>
      )}
    </section>
  )
}

function AuditRow({ entry }: { entry: AuditEntry }) {
  const { text, target, details } = formatAuditEntry(entry)
  return (
    <li className="audit-entry">
      <time className="small muted tabular" dateTime={new Date(entry.createdAt).toISOString()}>
        {formatDateTime(entry.createdAt)}
      </time>
      <span>
        <Phrase
          text={text as Text}
          values={{
            actor: <strong>{entry.actorUsername ?? t('Unknown user')}</strong>,
            target: <strong>{target}</strong>,
          }}
        />
        {details && <span className="audit-entry__details small">{details}</span>}
      </span>
    </li>
  )
}
