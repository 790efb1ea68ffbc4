import type { AuditEntry, Client } from '@gatehouse/client'
import { type AuditAction, auditActions } from '@gatehouse/contracts/constants'
import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { MutationButton } from '../../components/error-message.tsx'
import { formatDateTime, saveFile } from '../../components/format.ts'
import { useMutation } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { AdminList, type ListQuery, type Filter } from './admin-list.tsx'
import { formatAction, formatAuditEntry } from './format-audit-entry.ts'

const pageSize = 50
const downloadMax = 10_000

const listFilters = (): readonly Filter[] => [
  { name: 'subject', label: 'Target', type: 'text', placeholder: 'Username or ID' },
  { name: 'actor', label: 'Done by', type: 'text', placeholder: 'Username, ID or “operator”' },
  {
    name: 'action',
    label: 'Action',
    type: 'select',
    options: {
      '': t('All actions'),
      ...Object.fromEntries(auditActions.map((action) => [action, formatAction(action)])),
    },
  },
  { name: 'after', label: 'From', type: 'date' },
  { name: 'before', label: 'To', type: 'date' },
]

/** The API filters by ID only, so a typed username is looked up first. Contract: 5, audit. */
export function AuditSection() {
  const download = useMutation()
  const fetchPage = async (listQuery: ListQuery, signal: AbortSignal, client: Client, limit = pageSize) => {
    const { actor, subject, action, ...others } = listQuery
    const findId = async (name: string | undefined) => {
      if (!name || name === 'operator' || /^\d+$/.test(name)) return name
      const username = name.replace(/^@/, '').toLowerCase()
      const { users } = await client.call('listUsers', { query: { q: username, sort: 'az', pageSize: 100 }, signal })
      return users.find((user) => user.username.toLowerCase() === username)?.id ?? null
    }
    const [actorId, subjectId] = await Promise.all([actor, subject].map(findId))
    if (actorId === null || subjectId === null) return { items: [], nextCursor: null }
    const query = {
      limit,
      ...others,
      ...(action && { action: action as AuditAction }),
      ...(actorId && { actor: actorId }),
      ...(subjectId && { subject: subjectId }),
    }
    const { entries: items, nextCursor } = await client.call('listAudit', { query, signal })
    return { items, nextCursor }
  }
  const save = async ({ cursor: _, ...listQuery }: ListQuery, signal: AbortSignal, client: Client) => {
    const lines: string[] = []
    for (let cursor: string | null | undefined; cursor !== null && lines.length < downloadMax;) {
      const page = await fetchPage({ ...listQuery, ...(cursor && { cursor }) }, signal, client, 100)
      lines.push(...page.items.map((entry) => `${JSON.stringify(entry)}\n`))
      cursor = page.nextCursor
    }
    saveFile(new Blob(lines, { type: 'application/jsonl' }), 'audit-log.jsonl')
  }
  return (
    <AdminList
      title={t('Audit log')}
      filters={listFilters()}
      fetchPage={fetchPage}
      watched="any"
      empty={(listQuery) => (Object.keys(listQuery).length > 0 ? t('No entries found.') : t('No entries yet.'))}
      toolbar={({ items, query }) =>
        items.length > 0 && (
          <MutationButton
            mutation={download}
            size="small"
            text="Download (JSON Lines)"
            onClick={() => void download.run((...context) => save(query, ...context))}
          />
        )
      }
    >
      {(entry) => <AuditRow key={entry.id} entry={entry} />}
    </AdminList>
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
            actor: <LinkedName id={entry.actorId}>{nameActor(entry)}</LinkedName>,
            target: <LinkedName id={entry.targetType === 'user' ? entry.targetId : null}>{target}</LinkedName>,
          }}
        />
        {details && <span className="audit-entry__details small">{details}</span>}
      </span>
    </li>
  )
}

/** A user may be called `operator` too. */
function nameActor({ actorId, actorUsername }: AuditEntry): string {
  if (actorId === null && actorUsername === 'operator') return t('Operator (command line)')
  return actorUsername ?? t('Unknown user')
}

function LinkedName({ id, children }: { id: string | null; children: string }) {
  const name = <UserName strong>{children}</UserName>
  return id ? <Link href={`/admin/users/${id}`}>{name}</Link> : name
}
