import type { AuditEntry } from '@gatehouse/client'
import { UserName } from '../../components/avatar.tsx'
import { formatDateTime } from '../../components/format.ts'
import { QueryList } from '../../components/query-list.tsx'
import { useClient, usePages } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { formatAuditEntry } from './format-audit-entry.ts'

/** Contract: 5, audit. */
export function AuditSection() {
  const client = useClient()
  const fetchPage = async (query: { cursor?: string }, signal: AbortSignal) => {
    const { entries: items, nextCursor } = await client.call('listAudit', { query, signal })
    return { items, nextCursor }
  }
  const query = usePages('audit', fetchPage, 'any')
  return (
    <section className="stack" aria-label={t('Audit log')}>
      <h2 className="visually-hidden">{t('Audit log')}</h2>
      <QueryList {...query} query={query} empty={t('No entries yet.')} icon="info">
        {(entry) => <AuditRow key={entry.id} entry={entry} />}
      </QueryList>
    </section>
  )
}

export function AuditRow({ entry }: { entry: AuditEntry }) {
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
            actor: (
              <strong>
                <UserName>{entry.actorUsername ?? t('Unknown user')}</UserName>
              </strong>
            ),
            target: (
              <strong>
                <UserName>{target}</UserName>
              </strong>
            ),
          }}
        />
        {details && <span className="audit-entry__details small">{details}</span>}
      </span>
    </li>
  )
}
