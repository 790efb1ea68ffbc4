import type { Client } from '@gatehouse/client'
import { Link } from 'wouter'
import { DialogButton } from '../../components/dialog.tsx'
import { Notice } from '../../components/status.tsx'
import { useClient, useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import '../../styles/applications.css'
import { AdminList, type ListQuery, type Filter } from './admin-list.tsx'
import { ApplicationDialog } from './application-dialogs.tsx'
import { ApplicationRow } from './application-row.tsx'

const filters: readonly Filter[] = [{ name: 'q', label: 'Search', type: 'text', placeholder: 'Name or address' }]

async function fetchPage({ q }: ListQuery, signal: AbortSignal, client: Client) {
  const { applications } = await client.call('listApplications', { signal })
  const text = q?.toLowerCase() ?? ''
  const items = applications.filter(({ id, name, redirectUris }) =>
    [id, name, ...redirectUris].some((one) => one.toLowerCase().includes(text)),
  )
  const count = items.length === 1 ? t('1 application') : t('{count} applications', { count: items.length })
  return { items, count, nextCursor: null }
}

/** Who logs people in with this instance. Contract: 3, Applications. */
export function ApplicationsSection() {
  const { origin } = useClient()
  const { data: settings } = useQuery(
    'settings',
    (signal, client) => client.call('getSettings', { signal }),
    'settings',
  )
  return (
    <div className="stack">
      {settings?.openidEnabled === false && (
        <Notice tone="warning" text="Applications can’t log anyone in, because this is turned off.">
          <Link href="/admin/settings" className="button button--outline button--small">
            {t('Go to Instance')}
          </Link>
        </Notice>
      )}
      <AdminList
        title={t('Applications')}
        filters={filters}
        fetchPage={fetchPage}
        icon="key"
        empty={({ q }) =>
          q
            ? t('No applications found.')
            : t('No applications yet. Add one so that people can log in to it with their account.')
        }
        toolbar={({ refetch }) => (
          <>
            <DialogButton
              variant="primary"
              icon="plus"
              text="New application"
              dialog={(close) => <ApplicationDialog row={null} onClose={close} onDone={refetch} />}
            />
            <p className="small muted applications__issuer">
              <Phrase text="Issuer for OpenID Connect: {issuer}" values={{ issuer: <code>{origin}</code> }} />
            </p>
          </>
        )}
      >
        {(application, refetch) => (
          <ApplicationRow key={application.id} application={application} onChanged={refetch} />
        )}
      </AdminList>
    </div>
  )
}
