import type { AuditEntry } from '@gatehouse/client'
import { type AuditAction, auditActions } from '@gatehouse/contracts/constants'
import { Link } from 'wouter'
import { UserName } from '../../components/avatar.tsx'
import { SubmitButton } from '../../components/error-message.tsx'
import { formatDateTime, saveFile } from '../../components/format.ts'
import { useClient, useMutation } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import { AdminList, type Filter } from './admin-list.tsx'
import { formatAction, formatAuditEntry } from './format-audit-entry.ts'

const pageSize = 50
const downloadMax = 10_000

type Asked = Readonly<Record<string, string>>

const listFilters = (): readonly Filter[] => [
  { name: 'subject', label: 'About whom', type: 'text', placeholder: 'Username or id' },
  { name: 'actor', label: 'By whom', type: 'text', placeholder: 'Username, id or operator' },
  {
    name: 'action',
    label: 'What',
    type: 'select',
    options: [['', t('Everything')], ...auditActions.map((action) => [action, formatAction(action)] as const)],
  },
  { name: 'after', label: 'From', type: 'date' },
  { name: 'before', label: 'Until', type: 'date' },
]

/** Contract: 5, audit. */
export function AuditSection() {
  const client = useClient()
  const download = useMutation()
  const findId = async (name: string | undefined, signal: AbortSignal) => {
    if (!name || name === 'operator' || /^\d+$/.test(name)) return name
    const { users } = await client.call('listUsers', { query: { q: name, sort: 'az', pageSize: 100 }, signal })
    const username = name.replace(/^@/, '').toLowerCase()
    return users.find((user) => user.username.toLowerCase() === username)?.id ?? null
  }
  const fetchPage = async ({ actor, subject, ...asked }: Asked, signal: AbortSignal, limit = pageSize) => {
    const [actorId, subjectId] = await Promise.all([findId(actor, signal), findId(subject, signal)])
    if (actorId === null || subjectId === null) return { items: [], nextCursor: null }
    const { action, ...others } = asked
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
  const save = async ({ cursor: _, ...asked }: Asked, signal: AbortSignal) => {
    const lines: string[] = []
    for (let cursor: string | null | undefined; cursor !== null && lines.length < downloadMax;) {
      const page = await fetchPage({ ...asked, ...(cursor && { cursor }) }, signal, 100)
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
      empty={(asked) => (Object.keys(asked).length > 0 ? t('No entries match.') : t('No entries yet.'))}
      toolbar={({ items, query }) =>
        items.length > 0 && (
          <SubmitButton
            mutation={download}
            type="button"
            size="small"
            variant="outline"
            onClick={() => void download.run((signal) => save(query, signal))}
          >
            {t('Download (JSON lines)')}
          </SubmitButton>
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
            actor: <Named id={entry.actorId}>{entry.actorUsername ?? t('Unknown user')}</Named>,
            target: <Named id={entry.targetType === 'user' ? entry.targetId : null}>{target}</Named>,
          }}
        />
        {details && <span className="audit-entry__details small">{details}</span>}
      </span>
    </li>
  )
}

function Named({ id, children }: { id: string | null; children: string }) {
  const name = (
    <strong>
      <UserName>{children}</UserName>
    </strong>
  )
  return id ? <Link href={`/admin/users/${id}`}>{name}</Link> : name
}
