import { limits } from '@gatehouse/contracts/constants'
import { formatNumber } from '../../components/format.ts'
import { useInstanceInfo } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import '../../styles/registrations.css'
import { AdminList, type Filter } from './admin-list.tsx'
import { upTo } from './format-count.ts'
import { fetchRegistrations } from './registration-decisions.ts'
import { RegistrationQueue } from './registration-queue.tsx'
import type { Order } from './registration-selection.ts'

const listFilters = (): readonly Filter[] => [
  { name: 'q', label: 'Search', type: 'text', placeholder: 'Name, reason or network' },
  {
    name: 'sort',
    label: 'Sort by',
    type: 'select',
    options: { '': t('Network, fewest first'), oldest: t('Oldest first'), newest: t('Newest first') },
  },
]

/** The registrations that wait for an admin. Contract: 3, Approval. */
export function RegistrationsSection() {
  const { info } = useInstanceInfo()
  const nobody = info?.approvalRequired
    ? t('Nobody is waiting.')
    : t('Nobody is waiting. New accounts don’t need an approval: you can change that under Instance.')
  return (
    <AdminList
      title={t('Registrations')}
      filters={listFilters()}
      fetchPage={async ({ q }, signal, client) => {
        const page = await fetchRegistrations(client, q, signal)
        return { items: page.registrations, nextCursor: null, count: formatCount(page) }
      }}
      watched="registrations"
      empty={({ q }) => (q ? t('No registrations found.') : nobody)}
      icon="check"
      show={(rows, refetch, { sort = '' }) => (
        <RegistrationQueue rows={rows} order={sort as Order} onDecided={refetch} />
      )}
    />
  )
}

type RegistrationsPage = Awaited<ReturnType<typeof fetchRegistrations>>

function formatCount({ registrations, total, isWhole }: RegistrationsPage): string {
  if (total === 1) return t('1 person is waiting')
  const count = upTo(limits.waitingCountMax)(total)
  if (isWhole) return t('{count} are waiting', { count })
  // The list has no further page.
  const shown = formatNumber(registrations.length)
  return t('{count} are waiting. These are the first {shown}.', { count, shown })
}
