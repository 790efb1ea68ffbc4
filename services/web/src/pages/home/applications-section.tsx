import type { ConnectedApplication } from '@gatehouse/client'
import { UserName } from '../../components/avatar.tsx'
import { Card } from '../../components/card.tsx'
import { ConfirmDialog, DialogButton } from '../../components/dialog.tsx'
import { QueryList } from '../../components/query-list.tsx'
import { describeScope } from '../../components/scopes.ts'
import { RelativeTime } from '../../components/status.tsx'
import { useQuery } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { Phrase } from '../../language/phrase.tsx'
import '../../styles/applications.css'
import '../../styles/list-row.css'

/** What the person allowed to whom. Contract: 3, Applications. */
export function ApplicationsCard() {
  const query = useQuery('connected applications', (signal, client) =>
    client.call('listConnectedApplications', { signal }),
  )
  return (
    <Card title={t('Connected applications')} text="Applications where you log in with this account.">
      <QueryList
        query={query}
        items={query.data?.applications ?? null}
        empty={t('You haven’t logged in to an application with this account.')}
      >
        {(application) => <ApplicationRow key={application.id} {...application} onEnded={query.refetch} />}
      </QueryList>
    </Card>
  )
}

function ApplicationRow({ onEnded, ...application }: ConnectedApplication & { onEnded: () => void }) {
  const { name, scopes, grantedAt, lastUsedAt } = application
  return (
    <li className="list-row">
      <div className="stack stack--tight">
        <h3>
          <UserName>{name}</UserName>
        </h3>
        <ul className="small application-scopes">
          {scopes.map((scope) => (
            <li key={scope}>{describeScope(scope)}</li>
          ))}
        </ul>
        <p className="small muted">
          <Phrase text="allowed {time}" values={{ time: <RelativeTime at={grantedAt} /> }} />
          {lastUsedAt !== null && (
            <Phrase text=" · last used {time}" values={{ time: <RelativeTime at={lastUsedAt} /> }} />
          )}
        </p>
      </div>
      <div className="list-row__actions">
        <DialogButton
          size="small"
          variant="danger"
          text="End access"
          fullText="End access of {name}"
          values={{ name }}
          dialog={(close) => <EndApplicationDialog {...application} onClose={close} onDone={onEnded} />}
        />
      </div>
    </li>
  )
}

type EndProps = ConnectedApplication & { onClose: () => void; onDone: () => void }

function EndApplicationDialog({ id, name, onClose, onDone }: EndProps) {
  return (
    <ConfirmDialog
      dialog="EndApplicationDialog"
      title={t('End access of {name}', { name })}
      text="It can’t use your account anymore and asks you again next time. What it has stored about you stays there."
      submit={t('End access')}
      dangerous
      act={(_, client) => client.call('endConnectedApplication', { params: { id } })}
      done={t('{name} can’t use your account anymore.', { name })}
      onClose={onClose}
      onDone={onDone}
    />
  )
}
