import type { AuditEntry } from '@gatehouse/client'
import { client } from '../../client.ts'
import { usePages } from '../../hooks/use-pages.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { LoadProblem } from '../../parts/load-problem.tsx'
import { RowShimmer } from '../../parts/row-shimmer.tsx'
import { sayDate } from '../../parts/say-moment.ts'
import { sayAct } from './say-act.ts'

/** What admins did, to whom, when. Contract: 5, audit. */
export function AuditSection() {
  const pages = usePages<AuditEntry>('audit', async (cursor, signal) => {
    const page = await client.api.admin.listAudit(cursor ? { cursor } : {}, { signal })
    return { items: page.entries, nextCursor: page.nextCursor }
  })
  return (
    <section className="stack" aria-label="Audit log">
      <h2 className="visually-hidden">Audit log</h2>
      <LoadProblem load={pages} />
      {!pages.items && pages.loading && <RowShimmer rows={6} />}
      {pages.items?.length === 0 && (
        <Empty icon="info">
          <p>Nothing has been done here yet.</p>
        </Empty>
      )}
      {pages.items && pages.items.length > 0 && (
        <ul className="wall rows">
          {pages.items.map((entry) => (
            <AuditRow key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
      {pages.more && (
        <Button busy={pages.loading} onClick={pages.more}>
          Show more
        </Button>
      )}
    </section>
  )
}

function AuditRow({ entry }: { entry: AuditEntry }) {
  const { act, target, details } = sayAct(entry)
  return (
    <li className="audit">
      <time className="small quiet number" dateTime={new Date(entry.createdAt).toISOString()}>
        {sayDate(entry.createdAt)}
      </time>
      <span>
        <strong>{entry.actorUsername ?? 'Someone'}</strong> {act} <strong>{target}</strong>
        {details && <code className="audit__detail">{details}</code>}
      </span>
    </li>
  )
}
