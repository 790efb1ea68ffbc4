import type { LinkedIdentity } from '@gatehouse/client'
import { formatName, isolate, t } from '../language/language.ts'
import { formatDate, formatDateTime } from './format.ts'

export function describeIdentity({ name, linkedAt, lastUsedAt }: LinkedIdentity): string {
  const added = formatDate(linkedAt)
  const use =
    lastUsedAt === null
      ? t('Added on {added}, not used yet', { added })
      : t('Added on {added}, last used on {used}', { added, used: formatDateTime(lastUsedAt) })
  return name === null ? use : `${isolate(formatName(name))} · ${use}`
}
